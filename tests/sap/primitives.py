"""CRC-32C, ChaCha20-Poly1305 (RFC 8439), X25519 (RFC 7748) and Noise, in plain Python."""

import hashlib
import hmac
import struct


def _crc_table():
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        yield byte


_TABLE = list(_crc_table())


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ _TABLE[(value ^ byte) & 255]
    return value ^ 0xFFFFFFFF


def _rotate(value, bits):
    return (value << bits | value >> 32 - bits) & 0xFFFFFFFF


def _quarter(state, a, b, c, d):
    for add, turn, by, bits in [(a, d, b, 16), (c, b, d, 12), (a, d, b, 8), (c, b, d, 7)]:
        state[add] = (state[add] + state[by]) & 0xFFFFFFFF
        state[turn] = _rotate(state[turn] ^ state[add], bits)


def _block(key, counter, nonce):
    start = b"expand 32-byte k" + key + struct.pack("<I", counter) + nonce
    start = list(struct.unpack("<16I", start))
    state = start[:]
    for _ in range(10):
        for column in range(4):
            _quarter(state, column, column + 4, column + 8, column + 12)
        for diagonal in range(4):
            places = [row * 4 + (diagonal + row) % 4 for row in range(4)]
            _quarter(state, *places)
    return struct.pack("<16I", *((a + b) & 0xFFFFFFFF for a, b in zip(state, start)))


def chacha20(key, counter, nonce, data):
    blocks = range(counter, counter + -(-len(data) // 64))
    stream = b"".join(_block(key, block, nonce) for block in blocks)
    return bytes(a ^ b for a, b in zip(data, stream))


def _poly1305(key, data):
    r = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    total = 0
    for at in range(0, len(data), 16):
        total = (total + int.from_bytes(data[at : at + 16] + b"\1", "little")) * r % (2**130 - 5)
    return (total + int.from_bytes(key[16:], "little") & 2**128 - 1).to_bytes(16, "little")


def _tag(key, nonce, text, associated):
    padded = b"".join(part + bytes(-len(part) % 16) for part in (associated, text))
    lengths = struct.pack("<QQ", len(associated), len(text))
    return _poly1305(_block(key, 0, nonce)[:32], padded + lengths)


def opened(key, nonce, sealed, associated):
    """Decrypts what ChaCha20-Poly1305 has sealed; None if it is not authentic."""
    text, tag = sealed[:-16], sealed[-16:]
    if len(tag) != 16 or _tag(key, nonce, text, associated) != tag:
        return None
    return chacha20(key, 1, nonce, text)


def sealed(key, nonce, text, associated):
    hidden = chacha20(key, 1, nonce, text)
    return hidden + _tag(key, nonce, hidden, associated)


def x25519(scalar, point):
    prime = 2**255 - 19
    k = int.from_bytes(scalar, "little") & ~7 & ~(1 << 255) | 1 << 254
    u = int.from_bytes(point, "little") & (1 << 255) - 1
    x2, z2, x3, z3, swap = 1, 0, u, 1, 0
    for bit in range(254, -1, -1):
        now = k >> bit & 1
        if swap ^ now:
            x2, x3, z2, z3 = x3, x2, z3, z2
        swap = now
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        e, cb, da = a * a - b * b, c * b, d * a
        x3, z3 = (da + cb) ** 2 % prime, u * (da - cb) ** 2 % prime
        x2, z2 = a * a * b * b % prime, e * (a * a + 121665 * e) % prime
    if swap:
        x2, z2 = x3, z3
    return (x2 * pow(z2, prime - 2, prime) % prime).to_bytes(32, "little")


BASE = (9).to_bytes(32, "little")


class Noise:
    """The handshake NNpsk0_25519_ChaChaPoly_BLAKE2s."""

    def __init__(self, prologue, key):
        self.hash = hashlib.blake2s(b"Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s").digest()
        self.chain, self.key, self.nonce = self.hash, None, 0
        self.mix_hash(prologue)
        self.chain, mixed, self.key = self._derive(key, 3)
        self.mix_hash(mixed)

    def mix_hash(self, data):
        self.hash = hashlib.blake2s(self.hash + data).digest()

    def _derive(self, material, count):
        secret = hmac.digest(self.chain, material, "blake2s")
        outputs = [b""]
        for number in range(1, count + 1):
            outputs.append(hmac.digest(secret, outputs[-1] + bytes([number]), "blake2s"))
        return outputs[1:]

    def mix_key(self, material):
        self.chain, self.key = self._derive(material, 2)
        self.nonce = 0

    def ephemeral(self, public):
        """Takes an ephemeral key, of which a handshake with a shared key derives more."""
        self.mix_hash(public)
        self.mix_key(public)

    def payload(self, text):
        """Encrypts a payload, as the writer of a message does."""
        nonce = bytes(4) + struct.pack("<Q", self.nonce)
        hidden = sealed(self.key, nonce, text, self.hash)
        self.mix_hash(hidden)
        self.nonce += 1
        return hidden

    def split(self):
        """The keys for what the initiator sends, and for what the responder sends."""
        return self._derive(b"", 2)


def check():
    """The examples of the standards."""
    assert crc32c(b"123456789") == 0xE3069283
    key, nonce = bytes(range(32)), bytes.fromhex("000000090000004a00000000")
    assert _block(key, 1, nonce)[:8].hex() == "10f1e7e4d13b5915"
    scalar = "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4"
    point = "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c"
    product = "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"
    assert x25519(bytes.fromhex(scalar), bytes.fromhex(point)).hex() == product
