package cloud

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/vcenter"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
)

func TestConformance(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness {
		s := newStage(t, vcenter.Options{Clone: 900 * time.Millisecond, Boot: 2 * time.Second, Delete: 2 * time.Second})
		return providertest.Harness{
			Start: s.provider,
			Class: s.class,
			ProviderID: map[string]*regexp.Regexp{
				provider.OpenShift: regexp.MustCompile(`vsphere://[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`),
				provider.Gardener:  regexp.MustCompile(`vsphere://region1/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`),
			},
			Spellings: func(i provider.Instance) []string {
				uuid := strings.ToUpper(biosUUID(i.ProviderID))
				return []string{"vsphere://" + uuid, "vsphere://another-region/" + uuid, "VSphere://" + uuid}
			},
			Changed:  changed,
			BadSpecs: badSpecs(s),
			PageSize: pageSize,
			Knobs: providertest.Knobs{
				Advance: s.clock.Advance,
				Inject:  s.inject,
				Plant:   s.plant,
				Remove:  func(_ provider.Class, id string) error { return s.cloud.Do("terminate", id) },
				Strip:   func(_ provider.Class, id string) error { return s.cloud.Do("strip", id) },
				GiveUp:  func(_ provider.Class, id string) error { return s.cloud.Do("fail", id) },
				Count:   s.count,
				Rotate:  s.rotate,
				// Reads are up to date: a vCenter has one database. Clones take long instead.
				Lag: func(time.Duration) error { return providertest.Skip("a vCenter reads what it has written") },
				// Disks and network cards are parts of their virtual machine, from the request on.
				Leave: func(provider.Class, provider.Ref) error {
					return providertest.Skip("nothing is made beside a virtual machine")
				},
				Elsewhere: s.elsewhere(t),
			},
		}
	})
}

func changed(class provider.Class) provider.Class {
	var spec m
	if err := json.Unmarshal(class.Spec, &spec); err != nil {
		panic(err)
	}
	if class.API == provider.Gardener {
		spec["numCpus"] = 4
	} else {
		spec["numCPUs"] = 4
	}
	class.Spec, _ = json.Marshal(spec)
	return class
}

func badSpecs(s *stage) (all []providertest.BadSpec) {
	add := func(api, reason, field string, change func(m)) {
		spec := s.openShift()
		if api == provider.Gardener {
			spec = s.gardener("c")
		}
		change(spec)
		raw, err := json.Marshal(spec)
		if err != nil {
			panic(err)
		}
		all = append(all, providertest.BadSpec{Reason: reason, API: api, Spec: string(raw), Field: field})
	}
	add(provider.OpenShift, "no template", "template", func(s m) { delete(s, "template") })
	add(provider.OpenShift, "no workspace", "workspace", func(s m) { delete(s, "workspace") })
	add(provider.OpenShift, "no vCenter", "workspace.server", func(s m) { s["workspace"] = m{"datacenter": "dc1"} })
	add(provider.OpenShift, "no device", "network.devices", func(s m) { s["network"] = m{} })
	add(provider.OpenShift, "a device without a network", "network.devices[0].networkName", func(s m) { s["network"] = m{"devices": []m{{}}} })
	add(provider.OpenShift, "an address without a prefix", "network.devices[0].ipAddrs[0]", func(s m) {
		s["network"] = m{"devices": []m{{"networkName": "n", "ipAddrs": []string{"10.0.0.1"}}}}
	})
	add(provider.OpenShift, "a gateway that is none", "network.devices[0].gateway", func(s m) {
		s["network"] = m{"devices": []m{{"networkName": "n", "gateway": "x"}}}
	})
	add(provider.OpenShift, "a tag by its name", "tagIDs[0]", func(s m) { s["tagIDs"] = []string{"blue"} })
	add(provider.OpenShift, "another mode", "cloneMode", func(s m) { s["cloneMode"] = "half" })
	add(provider.OpenShift, "sockets of half a core", "numCoresPerSocket", func(s m) { s["numCoresPerSocket"] = 4 })
	add(provider.OpenShift, "a disk without a size", "dataDisks[0].sizeGiB", func(s m) { s["dataDisks"] = []m{{"name": "a"}} })
	add(provider.OpenShift, "another way to provision", "dataDisks[0].provisioningMode", func(s m) { s["dataDisks"] = []m{{"name": "a", "sizeGiB": 1, "provisioningMode": "x"}} })
	add(provider.OpenShift, "a value of the wrong type", "memoryMiB", func(s m) { s["memoryMiB"] = "many" })
	add(provider.Gardener, "no template", "templateVM", func(s m) { delete(s, "templateVM") })
	add(provider.Gardener, "no network", "network", func(s m) { delete(s, "network") })
	add(provider.Gardener, "nowhere to run", "resourcePool", func(s m) { delete(s, "resourcePool") })
	add(provider.Gardener, "nowhere for the disk", "datastore", func(s m) { delete(s, "datastore") })
	return all
}
