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

// form is the format in which a guest gets its user data.
type form string

const (
	formNone      form = ""
	formIgnition  form = volumeIgnition
	formCloudInit form = volumeCidata
)

// formOf returns the format in the spec. By default, a JSON object is for Ignition, and anything else for
// cloud-init, which does not read JSON.
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

// bootData is the content of the volume from which the guest reads its user data.
func bootData(f form, ref provider.Ref, hostname string, userData []byte) ([]byte, error) {
	if f == formIgnition {
		return userData, nil
	}
	// cloud-init uses the instance ID to detect the first boot. JSON is valid YAML.
	meta, err := json.Marshal(map[string]string{"instance-id": ref.UID, "local-hostname": hostname})
	if err != nil {
		return nil, fmt.Errorf("encode the guest's metadata: %w", err)
	}
	return iso.Image("cidata", map[string][]byte{"meta-data": meta, "user-data": userData})
}

// firmware are the architectures whose firmware passes files to the guest. On others, Ignition looks for a
// disk with a fixed serial number.
var firmware = []string{"x86_64", "i686", "aarch64", "armv7l", "riscv64", "loongarch64"}

func hasFirmware(arch string) bool { return slices.Contains(firmware, arch) }
