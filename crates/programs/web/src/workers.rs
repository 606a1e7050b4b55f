//! The threads that answer requests.

use std::thread;

use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use windfall_socket::make_runtime;

/// Threads beside the one that accepts connections; they end with this.
///
/// Each keeps the connections that it was given, so that no request is handed from one thread to
/// another.
pub(crate) struct Workers {
    others: Vec<(Handle, oneshot::Sender<()>)>,
    next: usize,
}

impl Workers {
    /// Starts this number of threads, or as many as the system has.
    pub(crate) fn start(count: usize) -> Self {
        let mut others = Vec::new();
        for _ in 0..count {
            let (end, ended) = oneshot::channel::<()>();
            let (begun, handle) = std::sync::mpsc::channel();
            // A runtime is made and dropped by its own thread alone.
            let run = move || {
                let Ok(runtime) = make_runtime() else { return };
                let _ = begun.send(runtime.handle().clone());
                let _ = runtime.block_on(ended);
                runtime.shutdown_background();
            };
            let started = thread::Builder::new().name("requests".to_owned()).spawn(run);
            let Some(handle) = started.ok().and_then(|_| handle.recv().ok()) else { break };
            others.push((handle, end));
        }
        Self { others, next: 0 }
    }

    /// Lets the next thread in turn serve a connection.
    pub(crate) fn spawn<F: Future<Output = ()> + Send + 'static>(
        &mut self,
        stream: TcpStream,
        serve: impl FnOnce(TcpStream) -> F + Send + 'static,
    ) {
        self.next = (self.next + 1) % (self.others.len() + 1);
        let Some((other, _)) = self.others.get(self.next) else {
            drop(tokio::spawn(serve(stream)));
            return;
        };
        // A socket belongs to the thread that waits for it.
        let Ok(stream) = stream.into_std() else { return };
        other.spawn(async move {
            if let Ok(stream) = TcpStream::from_std(stream) {
                serve(stream).await;
            }
        });
    }
}
