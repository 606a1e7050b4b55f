"""Builds the wheel of windfall_sap with cargo and Python alone, for pip (PEP 517)."""

import base64
import hashlib
import json
import os
import subprocess
import sysconfig
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# The stable interface of Python 3.11 serves every later one.
TAG = "cp311-abi3-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")


def _library():
    """The extension module, from WINDFALL_SAP_LIBRARY or built in release mode."""
    if given := os.environ.get("WINDFALL_SAP_LIBRARY"):
        return Path(given)
    command = ["cargo", "build", "--release", "--locked", "--message-format=json", "--lib"]
    command += ["--package", "windfall-ffi-py"]
    built = subprocess.run(command, cwd=HERE, stdout=subprocess.PIPE, check=True)
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    files = [file for message in messages for file in message.get("filenames", [])]
    return Path(next(file for file in files if Path(file).name == "libwindfall_sap.so"))


def _metadata(project):
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {project['version']}"]
    lines += [f"Summary: {project['description']}", f"License: {project['license']['text']}"]
    return "\n".join([*lines, f"Requires-Python: {project['requires-python']}", ""])


def _files(project, folder):
    """The contents of the wheel by their names."""
    package = sorted((HERE / "python/windfall_sap").iterdir())
    files = {f"windfall_sap/{path.name}": path.read_bytes() for path in package if path.is_file()}
    files["windfall_sap/_native.abi3.so"] = _library().read_bytes()
    files[f"{folder}/METADATA"] = _metadata(project).encode()
    wheel = f"Wheel-Version: 1.0\nGenerator: windfall\nRoot-Is-Purelib: false\nTag: {TAG}\n"
    files[f"{folder}/WHEEL"] = wheel.encode()
    return files


def _record(files, folder):
    lines = []
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    return "".join([*lines, f"{folder}/RECORD,,\n"]).encode()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes the wheel; returns its name."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    stem = f"{project['name'].replace('-', '_')}-{project['version']}"
    folder = f"{stem}.dist-info"
    files = _files(project, folder)
    files[f"{folder}/RECORD"] = _record(files, folder)
    name = f"{stem}-{TAG}.whl"
    with zipfile.ZipFile(Path(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            # A fixed time, so that the same files make the same wheel.
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            wheel.writestr(entry, data)
    return name


def build_sdist(sdist_directory, config_settings=None):
    """There is none: the sources are a workspace of many crates."""
    raise NotImplementedError("build a wheel: pip wheel crates/face/ffi-py")
