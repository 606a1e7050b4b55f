//! Gives the shared library the name by which programs find it.

/// Changes whenever programs that were built with an older library can no longer use a newer one.
const SONAME: &str = "libsap.so.2";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{SONAME}");
}
