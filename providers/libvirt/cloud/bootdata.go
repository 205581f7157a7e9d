package cloud

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/libvirt/internal/iso"
	"github.com/millwright-dev/millwright/providers/libvirt/spec"
)

// form is how a guest is given its user data.
type form string

const (
	formNone      form = ""
	formIgnition  form = volumeIgnition
	formCloudInit form = volumeCidata
)

// formOf is what the spec chooses. Where it does not, a JSON object is for Ignition, and anything else for cloud-init: that reads no JSON.
func formOf(c *spec.Config, userData []byte) form {
	switch {
	case c.IgnKey != "":
		return formNone
	case c.Ignition != nil:
		return formIgnition
	case c.CloudInit != nil:
		return formCloudInit
	case len(userData) == 0:
		return formNone
	case bytes.HasPrefix(bytes.TrimSpace(userData), []byte("{")) && json.Valid(userData):
		return formIgnition
	}
	return formCloudInit
}

// bootData is what the volume has, of which the guest takes its user data.
func bootData(f form, ref provider.Ref, hostname string, userData []byte) ([]byte, error) {
	if f == formIgnition {
		return userData, nil
	}
	// The instance's ID decides whether cloud-init runs for the first time. JSON is YAML.
	meta, err := json.Marshal(map[string]string{"instance-id": ref.UID, "local-hostname": hostname})
	if err != nil {
		return nil, fmt.Errorf("write the guest's metadata: %w", err)
	}
	return iso.Image("cidata", map[string][]byte{"meta-data": meta, "user-data": userData})
}

// firmware are the architectures whose firmware hands files to the guest. On others Ignition looks for a disk of a known serial number.
var firmware = []string{"x86_64", "i686", "aarch64", "armv7l", "riscv64", "loongarch64"}

func hasFirmware(arch string) bool { return slices.Contains(firmware, arch) }
