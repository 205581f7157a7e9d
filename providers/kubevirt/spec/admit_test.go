package spec_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/providers/kubevirt/spec"
)

// whole is a spec with many fields.
const whole = `{"apiVersion":"kubevirtproviderconfig.openshift.io/v1alpha1","kind":"KubevirtMachineProviderSpec",` +
	`"userDataSecret":{"name":"u"},"credentialsSecret":{"name":"c"},"region":"r","zone":"z",` +
	`"resources":{"requests":{"cpu":"2","memory":"4Gi"},"limits":{"cpu":"4","memory":"4Gi"}},` +
	`"rootVolume":{"source":{"http":{"url":"https://images.example.com/rhcos.qcow2"}},"pvc":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"40Gi"}}}},` +
	`"additionalVolumes":[{"name":"data","dataVolume":{"source":{"blank":{}},"storage":{"resources":{"requests":{"storage":"10Gi"}}}}},{"volumeSource":{"configMap":{"name":"m"}}}],` +
	`"devices":{"disks":[{"name":"data","lun":{"bus":"scsi"}}],"rng":{}},"networks":[{"name":"ns/net","default":true},{"name":"storage"}],` +
	`"sshKeys":["ssh-ed25519 AAAA me"],"cpu":{"cores":2},"memory":{"guest":"4Gi"},"dnsPolicy":"None","dnsConfig":{"nameservers":["10.0.0.1"]},` +
	`"tags":{"mcm.gardener.cloud/cluster":"shoot--a--b"}}`

// old is a spec for OpenShift's original provider.
const old = `{"apiVersion":"kubevirtproviderconfig.openshift.io/v1alpha1","kind":"KubevirtMachineProviderSpec","sourcePvcName":"rhcos",` +
	`"credentialsSecretName":"c","requestedMemory":"8192M","requestedCPU":4,"requestedStorage":"50Gi","storageClassName":"fast",` +
	`"ignitionSecretName":"u","networkName":"net","persistentVolumeAccessMode":"ReadWriteOnce"}`

func TestAdmit(t *testing.T) {
	for _, r := range []struct {
		reason, base, patch string
		want                []string
	}{
		{"a good one", whole, `{}`, nil},
		{"one of the original", old, `{}`, nil},
		{"the least of the original", `{"sourcePvcName":"p","ignitionSecretName":"u","credentialsSecretName":"c"}`, `{}`, nil},
		{"no secret", whole, `{"userDataSecret":null}`, []string{"userDataSecret.name Required"}},
		{"a secret without a name", whole, `{"credentialsSecret":{"name":""}}`, []string{"credentialsSecret.name Required"}},
		{"two names of one secret", whole, `{"ignitionSecretName":"other"}`, []string{"ignitionSecretName Forbidden"}},
		{"the same name twice says the same", whole, `{"ignitionSecretName":"u","credentialsSecretName":"c"}`, nil},
		{"a zone that no node can have", whole, `{"zone":"a b"}`, []string{"zone Invalid"}},
		{"no memory", whole, `{"resources":null,"memory":null}`, []string{"resources.requests.memory Required"}},
		{"memory as the guest's alone", whole, `{"resources":null}`, nil},
		{"less than nothing", whole, `{"resources":{"requests":{"cpu":"-1"}}}`, []string{"resources.requests.cpu Invalid"}},
		{"more than the limit", whole, `{"resources":{"requests":{"cpu":"5"}}}`, []string{"resources.requests.cpu Invalid"}},
		{"no root volume", whole, `{"rootVolume":null}`, []string{"rootVolume.pvc Required", "rootVolume.source Required"}},
		{"two sources", whole, `{"rootVolume":{"source":{"blank":{}}}}`, []string{"rootVolume.source.blank Forbidden"}},
		{"a source without a URL", whole, `{"rootVolume":{"source":{"http":{"url":""}}}}`, []string{"rootVolume.source.http.url Required"}},
		{"both ways to keep a volume", whole, `{"rootVolume":{"storage":{}}}`, []string{"rootVolume.storage Forbidden"}},
		{"no size", whole, `{"rootVolume":{"pvc":{"resources":null}}}`, []string{"rootVolume.pvc.resources.requests.storage Required"}},
		{"a clone needs no size", whole, `{"rootVolume":{"source":{"http":null,"pvc":{"name":"p"}},"pvc":{"resources":null}}}`, nil},
		{"a volume of two kinds", whole, `{"additionalVolumes":[{"dataVolume":{},"volumeSource":{}}],"devices":null}`, []string{"additionalVolumes[0] Required"}},
		{"names twice", whole, `{"additionalVolumes":[{"name":"root-disk","volumeSource":{"secret":{"secretName":"s"}}}],"devices":null}`, []string{"additionalVolumes[0].name Invalid"}},
		{"a source that names nothing", whole, `{"additionalVolumes":[{"name":"data","volumeSource":{"secret":{}}}]}`, []string{"additionalVolumes[0].volumeSource Required"}},
		{"a disk of no volume", whole, `{"devices":{"disks":[{"name":"dta"}]}}`, []string{"devices.disks[0].name Invalid"}},
		{"a disk in two ways", whole, `{"devices":{"disks":[{"name":"data","disk":{},"cdrom":{}}]}}`, []string{"devices.disks[0] Forbidden"}},
		{"no name of a network", whole, `{"networks":[{"name":"a/b/c"}]}`, []string{"networks[0].name Invalid"}},
		{"two defaults", whole, `{"networks":[{"name":"a","default":true},{"name":"b","default":true}]}`, []string{"networks[1].default Forbidden"}},
		{"a policy that there is not", whole, `{"dnsPolicy":"Nope"}`, []string{"dnsPolicy Unsupported"}},
		{"a policy without servers", whole, `{"dnsConfig":null}`, []string{"dnsConfig.nameservers Required"}},
		{"no key", whole, `{"sshKeys":["a\nb"]}`, []string{"sshKeys[0] Invalid"}},
		{"a tag that is ours", whole, `{"tags":{"millwright.dev/machine-uid":"x"}}`, []string{"tags[millwright.dev/machine-uid] Forbidden"}},
		{"a tag that is no label", whole, `{"tags":{"a":"b c"}}`, []string{"tags[a] Invalid"}},
		{"the original's volume beside ours", whole, `{"sourcePvcName":"p"}`, []string{"sourcePvcName Forbidden"}},
		{"what belongs to it alone", whole, `{"storageClassName":"fast"}`, []string{"sourcePvcName Required"}},
		{"no size of the original's", old, `{"requestedStorage":"big"}`, []string{"requestedStorage Invalid"}},
		{"no mode of the original's", old, `{"persistentVolumeAccessMode":"Often"}`, []string{"persistentVolumeAccessMode Invalid"}},
		{"no memory of the original's", old, `{"requestedMemory":"0"}`, []string{"requestedMemory Invalid"}},
		{"memory twice", whole, `{"requestedMemory":"1Gi"}`, []string{"requestedMemory Forbidden"}},
		{"networks twice", whole, `{"networkName":"n"}`, []string{"networkName Forbidden"}},
	} {
		t.Run(r.reason, func(t *testing.T) {
			a := admissiontest.Admission(admissiontest.Patched(t, r.base, r.patch))
			warnings, faults := spec.Admitter{}.Admit(a)
			if len(faults) > 0 {
				t.Errorf("refused: %v", faults)
			}
			admissiontest.Same(t, "warnings", kinds(t, warnings), r.want)
			if _, err := spec.DecodeOpenShift(a.Spec); (err != nil) != slices.ContainsFunc(r.want, notSecret) {
				t.Errorf("the controller reads it with %v", err)
			}
		})
	}
}

// kinds returns the fields of warnings, and the first words of the errors: "zone Invalid".
func kinds(t *testing.T, warnings []string) (short []string) {
	for i, path := range admissiontest.Warned(t, warnings) {
		_, text, _ := strings.Cut(warnings[i], path+": ")
		short = append(short, path+" "+strings.TrimRight(strings.Fields(text)[0], ":"))
	}
	return short
}

// notSecret filters out errors that Open does not return: the secrets were read by then.
func notSecret(fault string) bool {
	return !strings.HasPrefix(fault, "userDataSecret") && !strings.HasPrefix(fault, "credentialsSecret")
}

// TestFaultsKeepTheirOrder: the text of a status is the same in each pass.
func TestFaultsKeepTheirOrder(t *testing.T) {
	raw := admissiontest.Patched(t, whole, `{"region":"a b","zone":"a b","resources":{"requests":{"cpu":"9","memory":"9Gi","example.com/a":"-1"},`+
		`"limits":{"cpu":"0","memory":"0","example.com/a":"-2"}},"memory":{"guest":"0","maxGuest":"0"}}`)
	_, first := spec.DecodeOpenShift(raw)
	for range 50 {
		if _, err := spec.DecodeOpenShift(raw); err == nil || err.Error() != first.Error() {
			t.Fatalf("says\n%v\nand then\n%v", first, err)
		}
	}
}

func TestWarnings(t *testing.T) {
	for _, r := range []struct {
		reason, patch string
		want          []string
	}{
		{"nothing to warn of", `{}`, nil},
		{"a claim without modes", `{"rootVolume":{"pvc":{"accessModes":null}}}`, []string{"rootVolume.pvc.accessModes"}},
		{"overhead that nobody pays for", `{"resources":{"overcommitGuestOverhead":true}}`, []string{"resources.overcommitGuestOverhead"}},
	} {
		t.Run(r.reason, func(t *testing.T) {
			warnings, _ := spec.Admitter{}.Admit(admissiontest.Admission(admissiontest.Patched(t, whole, r.patch)))
			admissiontest.Same(t, "warnings", admissiontest.Warned(t, warnings), r.want)
		})
	}
}

func TestDefault(t *testing.T) {
	for _, r := range []struct{ reason, base, patch, want string }{
		{"a whole spec stays as it is", whole, `{}`, `{}`},
		{"one of the original stays as it is", old, `{}`, `{}`},
		{"userDataSecret: left out", whole, `{"userDataSecret":null}`, `{"userDataSecret":{"name":"worker-user-data"}}`},
		{"credentialsSecret: left out", whole, `{"credentialsSecret":null}`, `{"credentialsSecret":{"name":"kubevirt-credentials"}}`},
		{"an empty name stays", whole, `{"userDataSecret":{"name":""}}`, `{"userDataSecret":{"name":""}}`},
	} {
		t.Run(r.reason, func(t *testing.T) {
			filled, err := spec.Admitter{}.Default(admissiontest.Admission(admissiontest.Patched(t, r.base, r.patch)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(read(t, admissiontest.Patched(t, r.base, r.want)), read(t, filled)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func read(t *testing.T, raw []byte) (value any) {
	t.Helper()
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return value
}

// TestOriginal: the original's fields describe a machine as the current fields do.
func TestOriginal(t *testing.T) {
	m, err := spec.DecodeOpenShift([]byte(old))
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(m)
	const want = `{"resources":{"requests":{"cpu":"4","memory":"8192M"}},"rootVolume":{"source":{"pvc":{"namespace":"","name":"rhcos"}},` +
		`"pvc":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"50Gi"}},"storageClassName":"fast"}},` +
		`"networks":[{"name":"net","default":true}]}`
	if string(got) != want {
		t.Errorf("is\n%s\nwant\n%s", got, want)
	}
	userData, credentials, err := spec.OpenShiftSecrets([]byte(old))
	if userData != "u" || credentials != "c" || err != nil {
		t.Errorf("names the secrets %q and %q, %v", userData, credentials, err)
	}
}

func TestGardener(t *testing.T) {
	good := string(admissiontest.Patched(t, whole, `{"apiVersion":null,"kind":null,"userDataSecret":null,"credentialsSecret":null}`))
	for _, r := range []struct{ reason, patch, field string }{
		{"a good one", `{}`, ""},
		{"an unknown field", `{"zonez":"z"}`, "zonez"},
		{"a field of OpenShift's", `{"sourcePvcName":"p"}`, "sourcePvcName"},
		{"another case", `{"Zone":"z"}`, "Zone"},
		{"a text for a list", `{"sshKeys":"k"}`, "sshKeys"},
		{"no memory", `{"resources":null,"memory":null}`, "resources.requests.memory"},
		{"no URL", `{"rootVolume":{"source":{"http":{"url":""}}}}`, "rootVolume.source.http.url"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			_, err := spec.DecodeGardener(admissiontest.Patched(t, good, r.patch))
			if r.field == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !strings.Contains(errorText(err), r.field+": ") || provider.KindOf(err) != provider.Invalid {
				t.Errorf("says %v, want an Invalid error about %s", err, r.field)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestSize(t *testing.T) {
	for _, r := range []struct {
		reason, patch string
		cpus, memory  int64
	}{
		{"the topology counts", `{"cpu":{"cores":2,"sockets":3,"threads":2}}`, 12, 4096},
		{"limits before requests", `{"cpu":null}`, 4, 4096},
		{"parts of a processor are one", `{"cpu":null,"resources":{"limits":null,"requests":{"cpu":"1500m"}}}`, 2, 4096},
		{"what the guest sees is its memory", `{"memory":{"guest":"3Gi"}}`, 2, 3072},
		{"else what is asked for", `{"memory":null,"resources":{"requests":{"memory":"2Gi"}}}`, 2, 2048},
		{"one processor if nobody says", `{"cpu":null,"resources":{"limits":null,"requests":{"cpu":null}}}`, 1, 4096},
	} {
		t.Run(r.reason, func(t *testing.T) {
			m, err := spec.DecodeOpenShift(admissiontest.Patched(t, whole, r.patch))
			if err != nil {
				t.Fatal(err)
			}
			if m.VCPUs() != r.cpus || m.MemoryMiB() != r.memory {
				t.Errorf("has %d processors and %d MiB, want %d and %d", m.VCPUs(), m.MemoryMiB(), r.cpus, r.memory)
			}
		})
	}
}
