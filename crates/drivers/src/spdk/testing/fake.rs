//! Provides two fake targets: one that answers as instructed, byte for byte, and one that keeps
//! bdevs and controllers as a real one does, opens their files and makes the controllers' sockets.
//! Its answers are modelled on the recorded conversation.

use rustix::fs::{Mode, OFlags};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

/// Pieces that are written one by one in reply to a request; `None` closes the connection.
pub type Pieces = Option<Vec<Vec<u8>>>;

/// Listens on a socket and answers each request until the test ends.
pub fn serve(socket: &Path, answer: impl FnMut(&Value) -> Pieces + Send + 'static) {
    let listener = UnixListener::bind(socket).unwrap();
    let answer = Arc::new(Mutex::new(answer));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let answer = answer.clone();
            thread::spawn(move || {
                converse(stream.unwrap(), &mut |request| answer.lock().unwrap()(request))
            });
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
                // A client that gave up waiting is gone.
                if stream.write_all(&piece).is_err() {
                    return;
                }
                thread::yield_now();
            }
        }
    }
}

/// Returns a reply as a target writes it.
pub fn reply(request: &Value, result: Result<Value, (i64, &str)>) -> Vec<u8> {
    let mut reply = json!({"jsonrpc": "2.0", "id": request["id"]});
    match result {
        Ok(result) => reply["result"] = result,
        Err((code, message)) => reply["error"] = json!({"code": code, "message": message}),
    }
    format!("{reply}\n").into_bytes()
}

/// Fake target with bdevs and controllers.
#[derive(Clone)]
pub struct FakeTarget {
    pub socket: PathBuf,
    pub state: Arc<Mutex<FakeState>>,
}

/// Contents of a fake target.
#[derive(Default)]
pub struct FakeState {
    folder: PathBuf,
    /// Name, description, and the file that is open for each bdev.
    pub bdevs: BTreeMap<String, (Value, Option<OwnedFd>)>,
    pub controllers: BTreeMap<String, Value>,
    /// Arrays, as `bdev_raid_get_bdevs` reports them.
    pub arrays: BTreeMap<String, Value>,
    /// Stores of logical volumes, as `bdev_lvol_get_lvstores` reports them.
    pub stores: BTreeMap<String, Value>,
    /// Transports of NVMe-oF, as the target reports them.
    pub transports: Vec<Value>,
    pub subsystems: BTreeMap<String, Value>,
    /// File on whose first bdev the target finds a superblock.
    pub finds_on: Option<PathBuf>,
    /// Methods that the target lacks.
    pub without: Vec<&'static str>,
    /// File that the target opens instead of the one it is given, as in another mount namespace.
    pub opens: Option<PathBuf>,
    /// True if the reactors wait for interrupts.
    pub in_interrupt: bool,
    /// Calls so far, except those that only ask what the target is.
    pub calls: Vec<String>,
}

const METHODS: &[&str] = &[
    "bdev_aio_create",
    "bdev_aio_delete",
    "bdev_get_bdevs",
    "bdev_lvol_create",
    "bdev_lvol_create_lvstore",
    "bdev_lvol_delete",
    "bdev_lvol_delete_lvstore",
    "bdev_lvol_get_lvstores",
    "bdev_raid_add_base_bdev",
    "bdev_raid_create",
    "bdev_raid_delete",
    "bdev_raid_get_bdevs",
    "bdev_raid_remove_base_bdev",
    "bdev_split_create",
    "bdev_split_delete",
    "bdev_wait_for_examine",
    "framework_get_reactors",
    "nvmf_create_subsystem",
    "nvmf_create_transport",
    "nvmf_delete_subsystem",
    "nvmf_get_subsystems",
    "nvmf_get_transports",
    "nvmf_subsystem_add_host",
    "nvmf_subsystem_add_listener",
    "nvmf_subsystem_add_ns",
    "rpc_get_methods",
    "spdk_get_version",
    "vhost_create_blk_controller",
    "vhost_delete_controller",
    "vhost_get_controllers",
];

type FakeAnswer = Result<Value, (i64, &'static str)>;

impl FakeTarget {
    /// Starts a target that listens in that folder.
    pub fn start(folder: &Path) -> FakeTarget {
        let state = FakeState { folder: folder.to_owned(), ..FakeState::default() };
        let target =
            FakeTarget { socket: folder.join("spdk.sock"), state: Arc::new(Mutex::new(state)) };
        let state = target.state.clone();
        serve(&target.socket, move |request| {
            let result = state.lock().unwrap().answer(request);
            // A reply may come in two pieces.
            let reply = reply(request, result);
            let (one, two) = reply.split_at(reply.len() / 2);
            Some(vec![one.to_vec(), two.to_vec()])
        });
        target
    }
}

impl FakeState {
    fn answer(&mut self, request: &Value) -> FakeAnswer {
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
            "rpc_get_methods" => Ok(METHODS
                .iter()
                .filter(|method| !self.without.contains(method))
                .copied()
                .collect()),
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
            "vhost_create_blk_controller" => {
                self.control(&text("ctrlr"), &text("dev_name"), params)
            }
            "vhost_delete_controller" => self.uncontrol(&text("ctrlr")),
            "bdev_wait_for_examine" => Ok(self.examine()),
            method if method.contains("_raid_") => self.raid(method, params),
            method if method.contains("_lvol_") => self.lvol(method, params),
            other => self.nvmf(other, params),
        }
    }

    /// Returns the reactors; their process is the test's.
    fn reactors(&self) -> Value {
        let tid = rustix::process::getpid().as_raw_nonzero();
        let reactor =
            json!({"lcore": 0, "tid": tid, "in_interrupt": self.in_interrupt, "lw_threads": []});
        json!({"tick_rate": 1, "pid": std::process::id(), "reactors": [reactor]})
    }

    fn create(&mut self, name: &str, filename: &str, params: &Value) -> FakeAnswer {
        if self.bdevs.contains_key(name) {
            return Err((-17, "File exists"));
        }
        let path = self.opens.clone().unwrap_or_else(|| filename.into());
        let flags =
            OFlags::DIRECT | if params["readonly"] == true { OFlags::RDONLY } else { OFlags::RDWR };
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

    fn split(&mut self, base: &str, params: &Value) -> FakeAnswer {
        let Some((bdev, _)) = self.bdevs.get_mut(base) else { return Err((-19, "No such device")) };
        if bdev["claimed"] == true {
            return Err((-1, "Operation not permitted"));
        }
        bdev["claimed"] = true.into();
        let parts: Vec<String> =
            (0..params["split_count"].as_u64().unwrap()).map(|at| format!("{base}p{at}")).collect();
        for part in &parts {
            let of = json!({"split": {"base_bdev": base}});
            let bdev = json!({"name": part, "product_name": "Split Disk", "claimed": false, "driver_specific": of});
            self.bdevs.insert(part.clone(), (bdev, None));
        }
        Ok(parts.into())
    }

    fn unsplit(&mut self, base: &str) -> FakeAnswer {
        let part = format!("{base}p");
        self.bdevs.retain(|name, _| !name.starts_with(&part));
        self.claim(base, false)?;
        Ok(true.into())
    }

    fn control(&mut self, name: &str, bdev: &str, params: &Value) -> FakeAnswer {
        let Some(bdev) = self.name_of(bdev) else { return Err((-32602, "No such device")) };
        let socket = self.folder.join(name);
        std::fs::write(&socket, "").unwrap();
        let disk = json!({"readonly": params["readonly"] == true, "bdev": bdev, "transport": "vhost_user_blk"});
        let controller = json!({
            "ctrlr": name, "cpumask": "0x1", "socket": socket, "sessions": [], "backend_specific": {"block": disk},
        });
        self.controllers.insert(name.to_owned(), controller);
        Ok(true.into())
    }

    fn uncontrol(&mut self, name: &str) -> FakeAnswer {
        if self.controllers.remove(name).is_none() {
            return Err((-32602, "No such device"));
        }
        std::fs::remove_file(self.folder.join(name)).unwrap();
        Ok(true.into())
    }

    /// Returns the name of the bdev that has that name or alias.
    fn name_of(&self, word: &str) -> Option<String> {
        let is =
            |bdev: &Value| bdev["aliases"].as_array().is_some_and(|all| all.contains(&word.into()));
        self.bdevs
            .iter()
            .find(|(name, (bdev, _))| *name == word || is(bdev))
            .map(|(name, _)| name.clone())
    }

    /// Takes or frees a bdev for one user.
    fn claim(&mut self, name: &str, taken: bool) -> Result<(), (i64, &'static str)> {
        let Some((bdev, _)) = self.bdevs.get_mut(name) else { return Err((-19, "No such device")) };
        if taken && bdev["claimed"] == true {
            return Err((-1, "Operation not permitted"));
        }
        bdev["claimed"] = taken.into();
        Ok(())
    }

    fn examine(&mut self) -> Value {
        let finds_on = self.finds_on.clone();
        let found = |bdev: &&mut Value| {
            finds_on.as_ref().is_some_and(|path| {
                bdev["driver_specific"]["aio"]["filename"] == path.to_str().unwrap()
            })
        };
        let mut bdevs = self.bdevs.values_mut().map(|(bdev, _)| bdev);
        bdevs.find(found).into_iter().for_each(|bdev| bdev["claimed"] = true.into());
        true.into()
    }

    fn raid(&mut self, method: &str, params: &Value) -> FakeAnswer {
        let text = |key: &str| params[key].as_str().unwrap_or_default().to_owned();
        let name = text("name");
        match method {
            "bdev_raid_get_bdevs" => Ok(self.arrays.values().cloned().collect()),
            "bdev_raid_create" if params["raid_level"] == "raid5f" => {
                Err((-32700, "spdk_json_decode_object failed"))
            }
            "bdev_raid_create" => {
                let bases: Vec<&str> = params["base_bdevs"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter_map(Value::as_str)
                    .collect();
                let there = bases.iter().filter(|base| self.bdevs.contains_key(**base)).count();
                bases
                    .iter()
                    .filter(|base| self.bdevs.contains_key(**base))
                    .copied()
                    .collect::<Vec<_>>()
                    .into_iter()
                    .try_for_each(|base| self.claim(base, true))?;
                let list: Vec<Value> = bases.iter().map(|base| json!({"name": base})).collect();
                let array = json!({
                    "name": name, "raid_level": params["raid_level"], "superblock": params["superblock"],
                    "state": if there == bases.len() { "online" } else { "configuring" },
                    "num_base_bdevs": bases.len(), "num_base_bdevs_discovered": there, "base_bdevs_list": list,
                });
                self.set_array(&name, array);
                Ok(true.into())
            }
            "bdev_raid_delete" => match self.arrays.remove(&name) {
                None => Err((-19, "raid bdev not found")),
                Some(array) => {
                    self.bdevs.remove(&name);
                    let bases = array["base_bdevs_list"].as_array().unwrap();
                    bases
                        .iter()
                        .filter_map(|base| base["name"].as_str())
                        .for_each(|base| self.claim(base, false).unwrap_or_default());
                    Ok(true.into())
                }
            },
            "bdev_raid_remove_base_bdev" => self.change_array(&name, "", None),
            _ => self.change_array("", &text("raid_bdev"), Some(&text("base_bdev"))),
        }
    }

    /// Takes the member out of its array, or puts one in its empty place, which is rebuilt.
    fn change_array(&mut self, leaves: &str, of: &str, comes: Option<&str>) -> FakeAnswer {
        let has =
            |array: &Value| array["base_bdevs_list"].to_string().contains(&format!("\"{leaves}\""));
        let found =
            self.arrays.iter().find(|(name, array)| *name == of || (comes.is_none() && has(array)));
        let Some((name, mut array)) = found.map(|(name, array)| (name.clone(), array.clone()))
        else {
            return Err((-19, "No such device"));
        };
        let list = array["base_bdevs_list"].as_array_mut().unwrap();
        let place = list.iter_mut().find(|place| match comes {
            Some(_) => place["name"].is_null(),
            None => place["name"] == leaves,
        });
        let Some(place) = place else { return Err((-22, "Invalid argument")) };
        place["name"] = comes.map_or(Value::Null, Into::into);
        let there = list.iter().filter(|place| !place["name"].is_null()).count();
        array["num_base_bdevs_discovered"] = there.into();
        if comes.is_some() {
            array["process"] = json!({"type": "rebuild", "target": comes, "progress": {"blocks": 0, "percent": 0}});
        }
        self.claim(comes.unwrap_or(leaves), comes.is_some())?;
        self.set_array(&name, array);
        Ok(true.into())
    }

    fn set_array(&mut self, name: &str, array: Value) {
        if array["state"] == "online" {
            let of = json!({"raid": array});
            let bdev = json!({"name": name, "product_name": "Raid Volume", "block_size": 512, "claimed": false, "driver_specific": of});
            self.bdevs.insert(name.to_owned(), (bdev, None));
        }
        self.arrays.insert(name.to_owned(), array);
    }

    fn lvol(&mut self, method: &str, params: &Value) -> FakeAnswer {
        let text = |key: &str| params[key].as_str().unwrap_or_default().to_owned();
        let store = text("lvs_name");
        match method {
            "bdev_lvol_get_lvstores" => Ok(self.stores.values().cloned().collect()),
            "bdev_lvol_create_lvstore" => {
                self.claim(&text("bdev_name"), true)?;
                self.stores
                    .insert(store.clone(), json!({"name": store, "base_bdev": text("bdev_name")}));
                Ok("uuid-of-store".into())
            }
            "bdev_lvol_create" => {
                let Some(base) = self.stores.get(&store).map(|store| store["base_bdev"].clone())
                else {
                    return Err((-19, "No such device"));
                };
                let of = json!({"lvol": {"base_bdev": base, "thin_provision": params["thin_provision"]}});
                let alias = format!("{store}/{}", text("lvol_name"));
                let bdev = json!({
                    "name": "uuid-of-volume", "aliases": [alias], "product_name": "Logical Volume", "block_size": 512,
                    "claimed": false, "driver_specific": of,
                });
                self.bdevs.insert("uuid-of-volume".into(), (bdev, None));
                Ok("uuid-of-volume".into())
            }
            "bdev_lvol_delete" => {
                let name = self.name_of(&text("name"));
                name.and_then(|name| self.bdevs.remove(&name))
                    .map(|_| true.into())
                    .ok_or((-19, "No such device"))
            }
            _ => match self.stores.remove(&store) {
                Some(store) => {
                    self.claim(store["base_bdev"].as_str().unwrap(), false)?;
                    Ok(true.into())
                }
                None => Err((-19, "No such device")),
            },
        }
    }

    fn nvmf(&mut self, method: &str, params: &Value) -> FakeAnswer {
        let nqn = params["nqn"].as_str().unwrap_or_default().to_owned();
        match method {
            "nvmf_get_transports" => Ok(self.transports.clone().into()),
            "nvmf_get_subsystems" => Ok(self.subsystems.values().cloned().collect()),
            "nvmf_create_transport" if params["trtype"] == "RDMA" => {
                Err((-32602, "Invalid transport type 'RDMA'"))
            }
            "nvmf_create_transport" => {
                self.transports.push(json!({"trtype": params["trtype"]}));
                Ok(true.into())
            }
            "nvmf_create_subsystem" => {
                self.subsystems.insert(nqn.clone(), json!({"nqn": nqn, "namespaces": []}));
                Ok(true.into())
            }
            "nvmf_delete_subsystem" => match self.subsystems.remove(&nqn) {
                Some(subsystem) => {
                    let bdev = subsystem["namespaces"][0]["bdev_name"].as_str().map(str::to_owned);
                    bdev.map_or(Ok(()), |bdev| self.claim(&bdev, false))?;
                    Ok(true.into())
                }
                None => Err((-32602, "Subsystem not found")),
            },
            "nvmf_subsystem_add_ns" => {
                let bdev = params["namespace"]["bdev_name"].as_str().unwrap();
                let Some(bdev) = self.name_of(bdev) else {
                    return Err((-32602, "Invalid parameters"));
                };
                self.claim(&bdev, true)?;
                self.subsystems.get_mut(&nqn).unwrap()["namespaces"] =
                    json!([{"nsid": 1, "bdev_name": bdev}]);
                Ok(1.into())
            }
            "nvmf_subsystem_add_listener" if params["listen_address"]["traddr"] == "192.0.2.1" => {
                Err((-32602, "Invalid parameters"))
            }
            "nvmf_subsystem_add_host" | "nvmf_subsystem_add_listener" => Ok(true.into()),
            other => unreachable!("{other}"),
        }
    }
}
