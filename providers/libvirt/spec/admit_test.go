package spec_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/providers/libvirt/spec"
)

const good = `{"uri":"qemu:///system","domainMemory":4096,"domainVcpu":2,"volume":{"poolName":"default","baseVolumeID":"rhcos-base"},` +
	`"networkInterfaceName":"default","networkInterfaceAddress":"192.168.122.0/24","ignition":{"userDataSecret":"worker-user-data"},"autostart":false}`

// wrong are changes to a valid spec (merge patches), and the fields that they make invalid, in one API or in
// both.
var wrong = []struct{ reason, api, patch, path string }{
	{"no memory", "", `{"domainMemory":0}`, "domainMemory"},
	{"bytes for MiB", "", `{"domainMemory":4294967296}`, "domainMemory"},
	{"no CPUs", "", `{"domainVcpu":-1}`, "domainVcpu"},
	{"two forms of user data", "", `{"cloudInit":{"userDataSecret":"x"}}`, "cloudInit"},
	{"a config that is there, and one that is made", "", `{"ignKey":"/pool/x"}`, "ignKey"},
	{"an Ignition config for cloud-init", "", `{"ignKey":"/pool/x","ignition":null,"cloudInit":{}}`, "ignKey"},
	{"no base volume", "", `{"volume":{"baseVolumeID":""}}`, "volume.baseVolumeID"},
	{"no volume", "", `{"volume":null}`, "volume.baseVolumeID"},
	{"a name that leads out of the pool", "", `{"volume":{"volumeName":"../x"}}`, "volume.volumeName"},
	{"a disk of no size", "", `{"volume":{"volumeSize":"0"}}`, "volume.volumeSize"},
	{"an address without a range", "", `{"networkInterfaceAddress":"192.168.122.7"}`, "networkInterfaceAddress"},
	{"no host name", "", `{"networkInterfaceHostname":"A b"}`, "networkInterfaceHostname"},
	{"no UUID", "", `{"networkUUID":"default"}`, "networkUUID"},
	{"no driver", "", `{"uri":"/system"}`, "uri"},
	{"no way to it", "", `{"uri":"qemu+pigeon://host/system"}`, "uri"},
	{"no host", "", `{"uri":"qemu+tcp:///system"}`, "uri"},
	{"no instance of the driver", "", `{"uri":"qemu+tcp://host"}`, "uri"},
	{"no secret", provider.OpenShift, `{"ignition":{"userDataSecret":null}}`, "ignition.userDataSecret"},
	{"a secret beside the class's", provider.Gardener, `{}`, "ignition.userDataSecret"},
	{"a field that there is not", provider.Gardener, `{"rack":1}`, "rack"},
	{"what has no effect", provider.Gardener, `{"ignition":null,"cloudInit":{"sshAccess":true}}`, "cloudInit.sshAccess"},
	{"another version", provider.Gardener, `{"apiVersion":"v1"}`, "apiVersion"},
	{"another kind", provider.Gardener, `{"kind":"Pod"}`, "kind"},
}

func TestDecode(t *testing.T) {
	decoders := map[string]func([]byte) (*spec.Config, error){provider.OpenShift: spec.DecodeOpenShift, provider.Gardener: spec.DecodeGardener}
	bases := map[string]string{provider.OpenShift: good, provider.Gardener: string(admissiontest.Patched(t, good, `{"ignition":{"userDataSecret":null}}`))}
	for api, decode := range decoders {
		if _, err := decode([]byte(bases[api])); err != nil {
			t.Errorf("%s: the good one: %v", api, err)
		}
		for _, r := range wrong {
			if r.api != "" && r.api != api {
				continue
			}
			base := bases[api]
			if r.api == provider.Gardener {
				base = good
			}
			t.Run(api+" "+r.reason, func(t *testing.T) {
				_, err := decode(admissiontest.Patched(t, base, r.patch))
				if err == nil || !strings.Contains(err.Error(), r.path+": ") && !strings.Contains(err.Error(), `"`+r.path+`"`) {
					t.Errorf("%v, want it to name %s", err, r.path)
				}
			})
		}
	}
}

// TestAdmit: admission refuses no spec that can be decoded, as the original; invalid fields and fields
// without an effect are warnings.
func TestAdmit(t *testing.T) {
	for _, r := range wrong {
		if r.api == provider.Gardener {
			continue
		}
		t.Run(r.reason, func(t *testing.T) {
			warnings, faults := spec.Admitter{}.Admit(admissiontest.Admission(admissiontest.Patched(t, good, r.patch)))
			if len(faults) > 0 {
				t.Errorf("refused: %v", faults)
			}
			if !slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, r.path+": ") }) {
				t.Errorf("warnings %q, want one of %s", warnings, r.path)
			}
		})
	}
	for patch, warning := range map[string]string{
		`{}`: "",
		`{"ignition":null,"cloudInit":{"userDataSecret":"x","sshAccess":true}}`: "cloudInit.sshAccess: is ignored",
		`{"networkUUID":"6e3c2a4f-8d1b-4c5a-9e7f-0a1b2c3d4e5f"}`:                "networkInterfaceName: is ignored",
	} {
		warnings, faults := spec.Admitter{}.Admit(admissiontest.Admission(admissiontest.Patched(t, good, patch)))
		if len(faults) > 0 || warning == "" && len(warnings) > 0 || !strings.Contains(strings.Join(warnings, "\n"), warning) {
			t.Errorf("%s: warnings %q, faults %v", patch, warnings, faults)
		}
	}
	if _, faults := (spec.Admitter{}).Admit(admissiontest.Admission([]byte(`{"volume":[]}`))); len(faults) != 1 {
		t.Errorf("what cannot be read: %v", faults)
	}
}

// TestFaultsKeepTheirOrder: the text of a status is the same in each pass.
func TestFaultsKeepTheirOrder(t *testing.T) {
	both := `"ignition":{"userDataSecret":%[1]q},"cloudInit":{"userDataSecret":%[1]q}`
	for secret, decode := range map[string]func([]byte) (*spec.Config, error){"": spec.DecodeOpenShift, "x": spec.DecodeGardener} {
		t.Run(secret, func(t *testing.T) {
			raw := admissiontest.Patched(t, good, "{"+fmt.Sprintf(both, secret)+"}")
			_, first := decode(raw)
			for range 50 {
				if _, err := decode(raw); err == nil || err.Error() != first.Error() {
					t.Fatalf("says\n%v\nand then\n%v", first, err)
				}
			}
		})
	}
}

// TestAdmitHolds: admission of any spec ends, and Default changes nothing.
func TestAdmitHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := encoded(t, admissiontest.Draw(t, &spec.Config{}, "qemu:///system", "10.0.0.0/8"))
		admissiontest.Holds(t, spec.Admitter{}, admissiontest.Admission(raw), admissiontest.EmptyAndKnown)
	})
}
