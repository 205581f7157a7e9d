package cloud

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/millwright-dev/millwright/dev/clouds/vcenter"
	"github.com/millwright-dev/millwright/provider"
)

func TestUserData(t *testing.T) {
	const said = `{"ignition":{"version":"3.2.0"}}`
	encoded := base64.StdEncoding.EncodeToString([]byte(said))
	s := newStage(t, vcenter.Options{})
	of := s.open(t, s.class(provider.OpenShift, "c"))
	for n, data := range []string{said, encoded, base64.StdEncoding.EncodeToString([]byte(encoded))} {
		if _, err := of.Create(t.Context(), machineRef(fmt.Sprint("m", n)), provider.Want{UserData: []byte(data)}); err != nil {
			t.Fatal(err)
		}
		clones := s.cloud.Probe().Clones()
		got := options(clones[len(clones)-1])
		if got[optionIgnition] != encoded || got[optionIgnition+encoding] != "base64" || got[optionHostname] != fmt.Sprint("m", n) {
			t.Errorf("%s becomes %v", data, got)
		}
	}
}

func TestGardenersUserData(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	ask := func(name string, change func(m), data string) (types.CloneVM_Task, error) {
		class := s.gardener("c")
		change(class)
		_, err := s.open(t, s.classOf(provider.Gardener, "c", class)).Create(t.Context(), machineRef(name), provider.Want{UserData: []byte(data)})
		clones := s.cloud.Probe().Clones()
		if err != nil || len(clones) == 0 {
			return types.CloneVM_Task{}, err
		}
		return clones[len(clones)-1], nil
	}
	flatcar, err := ask("a", set("templateVM", "flatcar"), "hello")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Storage struct {
			Files []struct {
				Path     string
				Contents struct{ Source string }
			}
		}
	}
	if err := json.Unmarshal([]byte(vAppProperty(propertyIgnite)(s, flatcar)), &config); err != nil || len(config.Storage.Files) != 2 ||
		config.Storage.Files[1].Path != "/var/lib/flatcar-install/user_data" || !strings.HasSuffix(config.Storage.Files[1].Contents.Source, "base64,aGVsbG8=") {
		t.Errorf("%+v, %v", config, err)
	}
	// Without a vApp in the template, data is passed by options, which today's images read.
	plain, err := ask("b", set("templateVM", "rhcos"), "#cloud-config\n")
	if err != nil || options(plain)[optionUserData] != base64.StdEncoding.EncodeToString([]byte("#cloud-config\n")) || options(plain)[optionMetadata] == "" {
		t.Errorf("%v, %v", options(plain), err)
	}
	script, err := ask("c", set("sshKeys", []string{"k"}), "#!/bin/sh\n")
	if text, _ := base64.StdEncoding.DecodeString(vAppProperty(propertyData)(s, script)); err != nil || !strings.Contains(string(text), "IyEvYmluL3NoCg==") {
		t.Errorf("%s, %v", text, err)
	}
	for name, r := range map[string]struct {
		change func(m)
		data   string
		field  string
	}{
		"a property that the template has not":    {set("vapp", m{"properties": m{"x": "y"}}), "", "vapp.properties.x"},
		"a template without a vApp":               {func(s m) { s["vapp"], s["templateVM"] = m{"properties": m{"x": "y"}}, "rhcos" }, "", "vapp.properties"},
		"keys twice":                              {set("sshKeys", []string{"k"}), "#cloud-config\nssh_authorized_keys: []\n", "sshKeys"},
		"keys for what is nothing to add keys to": {set("sshKeys", []string{"k"}), "MIME-Version: 1.0", "sshKeys"},
		"a customization that nobody has made":    {set("customization", "x"), "", "customization"},
	} {
		if _, err := ask("d", r.change, r.data); !namesField(err, r.field) {
			t.Errorf("%s: %v, want Invalid about %s", name, err, r.field)
		}
	}
}

// A name that does not exist in the vCenter is reported with the field, and the missing object.
func TestWhatIsNotThere(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	for field, change := range map[string]func(m){
		"template":                       set("template", "nope"),
		"workspace.datacenter":           workspace("datacenter", "nope"),
		"workspace.folder":               workspace("folder", "/dc1/vm/nope"),
		"workspace.datastore":            workspace("datastore", "nope"),
		"workspace.resourcePool":         workspace("resourcePool", "/dc1/host/cluster1/Resources/nope"),
		"network.devices[0].networkName": func(s m) { s["network"] = m{"devices": []m{{"networkName": "nope"}}} },
		"snapshot":                       func(s m) { s["snapshot"], s["cloneMode"] = "nope", "linkedClone" },
		"diskGiB":                        set("diskGiB", 1),
	} {
		class := s.openShift()
		change(class)
		of := s.open(t, s.classOf(provider.OpenShift, "c", class))
		_, err := of.Create(t.Context(), machineRef("m"), provider.Want{})
		if !namesField(err, field) {
			t.Errorf("%v, want Invalid about %s", err, field)
		}
	}
	class := s.openShift()
	class["template"] = "old"
	if _, err := s.open(t, s.classOf(provider.OpenShift, "c", class)).Create(t.Context(), machineRef("m"), provider.Want{}); !namesField(err, "template") || !strings.Contains(err.Error(), "13") {
		t.Errorf("%v, want Invalid about the template's hardware", err)
	}
	for field, change := range map[string]func(m){
		"templateVM": set("templateVM", "nope"), "datacenter": set("datacenter", "nope"), "folder": set("folder", "nope"), "datastore": set("datastore", "nope"),
		"resourcePool": set("resourcePool", "nope"), "network": set("network", "nope"), "hostSystem": set("hostSystem", "nope"),
		"switchUuid": set("switchUuid", "50 0f"), "systemDisk.size": set("systemDisk", m{"size": 1}),
		"computeCluster":   func(s m) { delete(s, "resourcePool"); s["computeCluster"] = "nope" },
		"datastoreCluster": func(s m) { delete(s, "datastore"); s["datastoreCluster"] = "nope" },
	} {
		class := s.gardener("c")
		change(class)
		_, err := s.open(t, s.classOf(provider.Gardener, "c", class)).Create(t.Context(), machineRef("m"), provider.Want{})
		if !namesField(err, field) {
			t.Errorf("%v, want Invalid about %s", err, field)
		}
	}
}

// Gardener's provider upgrades virtual hardware that is too old; OpenShift's refuses it.
func TestOldHardwareIsUpgraded(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	class := s.gardener("c")
	class["templateVM"] = "old"
	of, r := s.open(t, s.classOf(provider.Gardener, "c", class)), machineRef("m")
	s.make(t, of, r)
	if got := s.only(t).Config.Version; got != "vmx-15" {
		t.Errorf("its hardware is %s", got)
	}
}

func TestZones(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	infra := `{"spec":{"platformSpec":{"vsphere":{"vcenters":[{"server":"x"}],"failureDomains":[{"name":"a"}]}}}}`
	s.objects = objects{"config.openshift.io/v1 Infrastructure /cluster": infra}
	of, r := s.open(t, s.class(provider.OpenShift, "c")), machineRef("m")
	i := s.make(t, of, r)
	if i.Region != "region1" || i.Zone != "zone1" {
		t.Errorf("it is in region %q, zone %q", i.Region, i.Zone)
	}
}

func TestSizeOfTheTemplate(t *testing.T) {
	s := newStage(t, vcenter.Options{})
	class := s.openShift()
	class["numCPUs"], class["memoryMiB"] = 0, 0
	size, err := s.open(t, s.classOf(provider.OpenShift, "c", class)).Size(t.Context())
	if err != nil || size.VCPU != 2 || size.MemoryMiB != 4096 {
		t.Errorf("%+v, %v", size, err)
	}
}
