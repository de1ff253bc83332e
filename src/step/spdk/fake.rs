//! Targets that are none: one that answers as it is told, byte for byte, and one that keeps bdevs and controllers as a real one
//! does, opens their files and makes the controllers' sockets. What it answers is modelled on the recorded conversation.

use rustix::fs::{Mode, OFlags};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

/// What is written to a request, piece by piece; `None` closes the connection.
pub type Pieces = Option<Vec<Vec<u8>>>;

/// Listens on a socket and answers each request; it ends with the test.
pub fn serve(socket: &Path, answer: impl FnMut(&Value) -> Pieces + Send + 'static) {
    let listener = UnixListener::bind(socket).unwrap();
    let answer = Arc::new(Mutex::new(answer));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let answer = answer.clone();
            thread::spawn(move || converse(stream.unwrap(), &mut |request| answer.lock().unwrap()(request)));
        }
    });
}

fn converse(mut stream: UnixStream, answer: &mut dyn FnMut(&Value) -> Pieces) {
    let (mut received, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        match stream.read(&mut chunk) {
            Ok(bytes @ 1..) => received.extend_from_slice(&chunk[..bytes]),
            _ => return,
        }
        let mut requests = serde_json::Deserializer::from_slice(&received).into_iter::<Value>();
        let whole: Vec<Value> = requests.by_ref().map_while(Result::ok).collect();
        let end = requests.byte_offset();
        received.drain(..end.min(received.len()));
        for request in whole {
            let Some(pieces) = answer(&request) else { return };
            for piece in pieces {
                // Whoever gave up waiting is gone.
                if stream.write_all(&piece).is_err() {
                    return;
                }
                thread::yield_now();
            }
        }
    }
}

/// A reply as a target writes it.
pub fn reply(request: &Value, result: Result<Value, (i64, &str)>) -> Vec<u8> {
    let mut reply = json!({"jsonrpc": "2.0", "id": request["id"]});
    match result {
        Ok(result) => reply["result"] = result,
        Err((code, message)) => reply["error"] = json!({"code": code, "message": message}),
    }
    format!("{reply}\n").into_bytes()
}

/// A target with bdevs and controllers.
#[derive(Clone)]
pub struct FakeTarget {
    /// Where it listens.
    pub socket: PathBuf,
    /// What it has.
    pub state: Arc<Mutex<State>>,
}

/// What a fake target has.
#[derive(Default)]
pub struct State {
    folder: PathBuf,
    /// Name, description, and the file that is open for it.
    pub bdevs: BTreeMap<String, (Value, Option<OwnedFd>)>,
    /// Name and description.
    pub controllers: BTreeMap<String, Value>,
    /// Methods that it is without.
    pub without: Vec<&'static str>,
    /// It opens this in the place of what it is told, as in another mount namespace.
    pub opens: Option<PathBuf>,
    /// Its reactors wait for interrupts.
    pub in_interrupt: bool,
    /// Calls so far, but for those that only ask what the target is.
    pub calls: Vec<String>,
}

const METHODS: &[&str] = &[
    "bdev_aio_create",
    "bdev_aio_delete",
    "bdev_get_bdevs",
    "bdev_split_create",
    "bdev_split_delete",
    "framework_get_reactors",
    "rpc_get_methods",
    "spdk_get_version",
    "vhost_create_blk_controller",
    "vhost_delete_controller",
    "vhost_get_controllers",
];

type Answer = Result<Value, (i64, &'static str)>;

impl FakeTarget {
    /// One that listens in that folder.
    pub fn start(folder: &Path) -> FakeTarget {
        let state = State { folder: folder.to_owned(), ..State::default() };
        let target = FakeTarget { socket: folder.join("spdk.sock"), state: Arc::new(Mutex::new(state)) };
        let state = target.state.clone();
        serve(&target.socket, move |request| {
            let result = state.lock().unwrap().answer(request);
            // In two pieces, as it may come.
            let reply = reply(request, result);
            let (one, two) = reply.split_at(reply.len() / 2);
            Some(vec![one.to_vec(), two.to_vec()])
        });
        target
    }
}

impl State {
    fn answer(&mut self, request: &Value) -> Answer {
        let method = request["method"].as_str().unwrap_or_default();
        let params = &request["params"];
        if self.without.contains(&method) || !METHODS.contains(&method) {
            return Err((-32601, "Method not found"));
        }
        let text = |key: &str| params[key].as_str().unwrap_or_default().to_owned();
        if !method.contains("_get_") {
            self.calls.push(format!("{method} {params}"));
        }
        match method {
            "spdk_get_version" => Ok(json!({"version": "SPDK v0.1 made up", "fields": {}})),
            "rpc_get_methods" => {
                Ok(METHODS.iter().filter(|method| !self.without.contains(method)).copied().collect())
            }
            "framework_get_reactors" => Ok(self.reactors()),
            "bdev_get_bdevs" => Ok(self.bdevs.values().map(|(bdev, _)| bdev.clone()).collect()),
            "vhost_get_controllers" => Ok(self.controllers.values().cloned().collect()),
            "bdev_aio_create" => self.create(&text("name"), &text("filename"), params),
            "bdev_split_create" => self.split(&text("base_bdev"), params),
            "bdev_split_delete" => self.unsplit(&text("base_bdev")),
            "bdev_aio_delete" => match self.bdevs.remove(&text("name")) {
                Some(_) => Ok(true.into()),
                None => Err((-19, "No such device")),
            },
            "vhost_create_blk_controller" => self.control(&text("ctrlr"), &text("dev_name"), params),
            "vhost_delete_controller" => self.uncontrol(&text("ctrlr")),
            other => unreachable!("{other}"),
        }
    }

    /// Its process is that of the test.
    fn reactors(&self) -> Value {
        let tid = rustix::process::getpid().as_raw_nonzero();
        let reactor = json!({"lcore": 0, "tid": tid, "in_interrupt": self.in_interrupt, "lw_threads": []});
        json!({"tick_rate": 1, "pid": std::process::id(), "reactors": [reactor]})
    }

    fn create(&mut self, name: &str, filename: &str, params: &Value) -> Answer {
        if self.bdevs.contains_key(name) {
            return Err((-17, "File exists"));
        }
        let path = self.opens.clone().unwrap_or_else(|| filename.into());
        let flags = OFlags::DIRECT | if params["readonly"] == true { OFlags::RDONLY } else { OFlags::RDWR };
        let Ok(file) = rustix::fs::open(&path, flags, Mode::empty()) else {
            return Err((-2, "No such file or directory"));
        };
        let aio = json!({"filename": filename, "readonly": params["readonly"] == true});
        let bdev = json!({
            "name": name, "product_name": "AIO disk", "block_size": params["block_size"], "claimed": false,
            "driver_specific": {"aio": aio},
        });
        self.bdevs.insert(name.to_owned(), (bdev, Some(file)));
        Ok(name.into())
    }

    fn split(&mut self, base: &str, params: &Value) -> Answer {
        let Some((bdev, _)) = self.bdevs.get_mut(base) else { return Err((-19, "No such device")) };
        if bdev["claimed"] == true {
            return Err((-1, "Operation not permitted"));
        }
        bdev["claimed"] = true.into();
        let parts: Vec<String> =
            (0..params["split_count"].as_u64().unwrap()).map(|at| format!("{base}p{at}")).collect();
        for part in &parts {
            self.bdevs.insert(part.clone(), (json!({"name": part, "product_name": "Split Disk"}), None));
        }
        Ok(parts.into())
    }

    fn unsplit(&mut self, base: &str) -> Answer {
        let part = format!("{base}p");
        self.bdevs.retain(|name, _| !name.starts_with(&part));
        Ok(true.into())
    }

    fn control(&mut self, name: &str, bdev: &str, params: &Value) -> Answer {
        if !self.bdevs.contains_key(bdev) {
            return Err((-32602, "No such device"));
        }
        let socket = self.folder.join(name);
        std::fs::write(&socket, "").unwrap();
        let disk =
            json!({"readonly": params["readonly"] == true, "bdev": bdev, "transport": "vhost_user_blk"});
        let controller = json!({
            "ctrlr": name, "cpumask": "0x1", "socket": socket, "sessions": [], "backend_specific": {"block": disk},
        });
        self.controllers.insert(name.to_owned(), controller);
        Ok(true.into())
    }

    fn uncontrol(&mut self, name: &str) -> Answer {
        if self.controllers.remove(name).is_none() {
            return Err((-32602, "No such device"));
        }
        std::fs::remove_file(self.folder.join(name)).unwrap();
        Ok(true.into())
    }
}
