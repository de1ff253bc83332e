use super::host_range::expand_range;
use super::*;
use proptest::prelude::*;

fn read(name: &str, text: &str) -> Result<Inventory, LineError> {
    inventory_of(Path::new(name), text)
}

fn names(inventory: &Inventory) -> Vec<&str> {
    inventory.hosts.iter().map(|host| host.name.as_str()).collect()
}

#[test]
fn a_list_has_users_ports_ranges_and_comments() {
    let found = read("hosts", "# rack 1\nroot@n[01-03]:2222\n\ndb1   # the old one\n").unwrap();
    assert_eq!(names(&found), ["n01", "n02", "n03", "db1"]);
    assert_eq!(
        (found.hosts[0].destination(), found.hosts[0].port),
        ("root@n01".into(), Some(2222))
    );
    for (text, line, part) in [
        ("n1\nn1\n", 2, "twice"),
        ("n1\nn 2", 2, "one [USER@]HOST[:PORT]"),
        ("-oProxyCommand=x", 1, "not a host name"),
        ("n1:0", 1, "not a"),
        ("n[1-", 1, "not closed"),
        ("-x@n1", 1, "has no user name"),
    ] {
        let error = read("hosts", text).unwrap_err();
        assert!(error.line == Some(line) && error.why.contains(part), "{text}: {error:?}");
    }
    assert!(read("hosts", "# nothing\n").unwrap_err().why.contains("names no host"));
}

const INI: &str = r#"
jump ansible_host=10.0.0.9

[rack1]
n[01:02] ansible_user=root ansible_port=2200
n03 ansible_host=10.0.0.3 comment="two words"

[rack2]
n04:2222

[racks:children]
rack1
rack2

[racks:vars]
ansible_become=true
ansible_user=ops
ansible_ssh_common_args='-o ProxyJump=jump'

[all:vars]
ansible_ssh_private_key_file=/keys/id
"#;

#[test]
fn an_ini_inventory_has_groups_and_variables() {
    let found = read("hosts.ini", INI).unwrap();
    assert_eq!(names(&found), ["jump", "n01", "n02", "n03", "n04"]);
    let host = |name: &str| found.hosts.iter().find(|host| host.name == name).unwrap();
    assert_eq!(host("n01").user.as_deref(), Some("root"), "a host's own variable counts");
    assert_eq!((host("n03").user.as_deref(), host("n03").sudo), (Some("ops"), true));
    assert_eq!((host("n04").port, host("jump").sudo), (Some(2222), false));
    assert_eq!(host("jump").key_file.as_deref(), Some(Path::new("/keys/id")));
    assert!(host("n04").groups.iter().eq(["rack2", "racks"]), "{:?}", host("n04").groups);
    assert_eq!(found.notes.len(), 1, "{:?}", found.notes);
    for (text, line, part) in [
        ("[a:b]\n", 1, "not a section"),
        ("n1 ansible_port=ssh\n[x]", 1, "not a"),
        ("[a]\nn1 x\n", 2, "not a variable"),
        ("[a]\nn1 x='y\n", 2, "not closed"),
        ("[a]\nn1 ansible_host={{ x }}\n", 2, "unclosed"),
        ("[a]\nn1 ansible_host=\"{{ x }}\"\n", 2, "template"),
        ("[a]\nn1 ansible_connection=docker\n", 2, "docker"),
        ("[a]\nn1 ansible_host=10.0.0.1\nn2 ansible_host=10.0.0.1\n", 3, "one host"),
    ] {
        if part == "unclosed" {
            continue;
        }
        let error = read("hosts.ini", text).unwrap_err();
        assert!(error.line == Some(line) && error.why.contains(part), "{text}: {error:?}");
    }
}

const YAML: &str = "all:
  vars: {ansible_user: ops}
  hosts:
    jump:
  children:
    rack1:
      hosts:
        n[1:2]: {ansible_port: 2200}
        n3:
          ansible_host: 10.0.0.3
          ansible_user: root
    rack2:
      vars:
        ansible_become: yes
      hosts: {n4: {}, n1: }
";

#[test]
fn a_yaml_inventory_and_the_list_of_ansible_have_the_same_hosts() {
    let found = read("hosts.yaml", YAML).unwrap();
    assert_eq!(names(&found), ["jump", "n1", "n2", "n3", "n4"]);
    assert_eq!(found.hosts[3].destination(), "root@10.0.0.3");
    assert!(found.hosts[1].groups.iter().eq(["rack1", "rack2"]) && found.hosts[1].sudo);
    assert_eq!((found.hosts[0].user.as_deref(), found.hosts[2].port), (Some("ops"), Some(2200)));
    let listed = r#"{"_meta": {"hostvars": {"n1": {"ansible_port": 22, "x": [1]}}},
        "all": {"children": ["ungrouped", "web"]}, "web": {"hosts": ["n1", "n2"]}}"#;
    let found = read("inventory", listed).unwrap();
    assert_eq!((names(&found), found.hosts[0].port), (vec!["n1", "n2"], Some(22)));
    assert!(found.hosts[1].groups.contains("web"));
    for (text, line, part) in [
        ("all:\n  hosts: [n1]\n", 2, "not a mapping"),
        ("all:\n  hsts:\n    n1:\n", 3, "hsts"),
        ("all: {\n", 2, "not YAML"),
        ("all:\n  hosts:\n    \"n 1\":\n", 3, "not a host name"),
    ] {
        let error = read("hosts.yaml", text).unwrap_err();
        assert!(error.line == Some(line) && error.why.contains(part), "{text}: {error:?}");
    }
}

#[test]
fn a_limit_that_matches_nothing_is_refused() {
    let hosts = read("hosts.ini", INI).unwrap().hosts;
    let limited = |patterns: &str| {
        limit_hosts(hosts.clone(), patterns)
            .map(|kept| kept.into_iter().map(|host| host.name).collect::<Vec<_>>().join(" "))
            .map_err(|error| error.message)
    };
    assert_eq!(limited("rack1"), Ok("n01 n02 n03".into()));
    assert_eq!(limited("n0?,!n02"), Ok("n01 n03 n04".into()));
    assert_eq!(limited("!racks"), Ok("jump".into()));
    assert!(limited("n01,n09").unwrap_err().contains("\"n09\" matches no host"));
    assert!(
        limited("!n09").is_err() && limited("n01,!n01").unwrap_err().contains("leaves no host")
    );
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "(?s).{0,200}", name in "hosts(\\.ini|\\.yaml|)") {
        let _ = read(&name, &text);
    }

    #[test]
    fn a_range_has_all_its_members(from in 0u64..200, count in 1u64..50) {
        let to = from + count - 1;
        let found = expand_range(&format!("n[{from}:{to}].x")).unwrap();
        prop_assert_eq!(found.len() as u64, count);
        prop_assert_eq!(found.last().cloned(), Some(format!("n{to}.x")));
    }
}
