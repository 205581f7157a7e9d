package cloud

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/millwright-dev/millwright/provider"
)

// cloudInit is user data for cloud-init with SSH keys for the default user. A script is wrapped, since it
// cannot contain keys.
func cloudInit(data []byte, keys []string) ([]byte, error) {
	text := string(data)
	if len(keys) == 0 {
		return data, nil
	}
	if strings.HasPrefix(text, "#!") {
		const wrapped = "#cloud-config\nwrite_files:\n- path: /var/lib/machine-user-data\n  owner: root:root\n  permissions: '0555'\n  encoding: b64\n" +
			"  content: %s\nruncmd:\n- /var/lib/machine-user-data\n- rm /var/lib/machine-user-data\n"
		text = fmt.Sprintf(wrapped, base64.StdEncoding.EncodeToString(data))
	}
	switch {
	case !strings.HasPrefix(text, "#cloud-config"):
		return nil, provider.InvalidField("sshKeys", "the user data is neither a script nor a #cloud-config, which keys could be added to")
	case strings.Contains(text, "ssh_authorized_keys:"):
		return nil, provider.InvalidField("sshKeys", "the user data has ssh_authorized_keys already")
	}
	text = strings.TrimSuffix(text, "\n") + "\nssh_authorized_keys:\n"
	for _, key := range keys {
		text += fmt.Sprintf("- %q\n", key)
	}
	return []byte(text), nil
}

type jsonObject = map[string]any

// ignition is a configuration in the format 2.1.0 by which Container Linux, and Flatcar after it, get user
// data: as a file that is read at boot.
func ignition(guestID, name string, data []byte, keys []string) (string, error) {
	folder := "/var/lib/coreos-install"
	if guestID == guestFlatcar {
		folder = "/var/lib/flatcar-install"
	}
	file := func(path, source string) jsonObject {
		return jsonObject{"filesystem": "root", "path": path, "mode": 0o644, "contents": jsonObject{"source": source}}
	}
	config := jsonObject{
		"ignition": jsonObject{"version": "2.1.0"},
		"networkd": jsonObject{"units": []jsonObject{{
			"name": "00-ens192.network", "contents": "[Match]\nName=ens192\n\n[Network]\nDHCP=yes\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n",
		}}},
		"storage": jsonObject{
			"directories": []jsonObject{{"filesystem": "root", "path": folder, "mode": 0o755}},
			"files": []jsonObject{
				file("/etc/hostname", "data:,"+name),
				file(folder+"/user_data", "data:text/plain;charset=utf-8;base64,"+base64.StdEncoding.EncodeToString(data)),
			},
		},
	}
	user := jsonObject{"name": "core", "passwordHash": "*"}
	if len(keys) > 0 {
		user["sshAuthorizedKeys"] = keys
	}
	config["passwd"] = jsonObject{"users": []jsonObject{user}}
	text, err := json.Marshal(config)
	return string(text), err
}
