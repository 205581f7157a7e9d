package cloud

import (
	"encoding/base64"
	"encoding/json"
)

// hostNameFile is the file of the host name.
const hostNameFile = "/etc/hostname"

// withHostName adds the name of the machine as the host name to a configuration of Ignition, as the original
// does: Prism Central passes no host name to guests. Other user data stays as it is. So does a configuration
// that has the file already: Ignition refuses a second one.
func withHostName(data []byte, name string) []byte {
	var config map[string]any
	if json.Unmarshal(data, &config) != nil || config["ignition"] == nil {
		return data
	}
	storage, ok := config["storage"].(map[string]any)
	if !ok {
		storage = map[string]any{}
		config["storage"] = storage
	}
	files, _ := storage["files"].([]any)
	for _, f := range files {
		if file, _ := f.(map[string]any); file["path"] == hostNameFile {
			return data
		}
	}
	storage["files"] = append(files, map[string]any{
		"path": hostNameFile, "overwrite": true, "mode": 0o644,
		"contents": map[string]any{"source": "data:text/plain;charset=utf-8;base64," + base64.StdEncoding.EncodeToString([]byte(name))},
	})
	out, err := json.Marshal(config)
	if err != nil {
		return data
	}
	return out
}
