package cloud

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/gce"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
)

func TestConformance(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness { return newBench(t).harness() })
}

var operations = map[providertest.Verb]string{
	providertest.Find: "instances.aggregatedList*", providertest.Create: "instances.insert", providertest.Delete: "instances.delete",
	providertest.List: "instances.aggregatedList*", providertest.Leftovers: "disks.aggregatedList*",
}

func (b *bench) harness() providertest.Harness {
	return providertest.Harness{
		Start: func() provider.Provider { return b.start() },
		Class: b.class,
		ProviderID: map[string]*regexp.Regexp{
			provider.OpenShift: regexp.MustCompile(`^gce://rehearsal/us-east1-[bcd]/[a-z0-9-]+$`),
			provider.Gardener:  regexp.MustCompile(`^gce:///rehearsal/us-east1-[bcd]/[a-z0-9-]+$`),
		},
		Spellings: func(i provider.Instance) []string {
			at := "rehearsal/" + i.Zone + "/" + i.NodeName
			return []string{"gce://" + at, "gce:///" + at, "GCE://" + strings.ToUpper(at)}
		},
		Changed: func(class provider.Class) provider.Class { return with(class, "n1-standard-4", "n2-standard-8") },
		Choices: func(class provider.Class) provider.Class {
			return with(with(class, `"us-east1-b"`, `"us-east1-b, us-east1-c"`), `"n1-standard-4"`, `"n2-standard-4, n1-standard-4"`)
		},
		BadSpecs: badSpecs,
		PageSize: 5,
		Knobs: providertest.Knobs{
			Advance: b.clock.Advance,
			Inject:  b.inject,
			Lag:     func(d time.Duration) error { return b.cloud.Do("lag", d.String()) },
			Plant:   b.plant,
			Remove:  func(_ provider.Class, id string) error { return b.cloud.Do("terminate", id) },
			GiveUp:  func(_ provider.Class, id string) error { return b.cloud.Do("fail", id) },
			Strip: func(_ provider.Class, id string) error {
				return b.cloud.Do("untag", id+"="+namespaceLabel)
			},
			Leave: func(class provider.Class, ref provider.Ref) error {
				s := b.open(class)
				b.cloud.Leave("us-east1-b", s.diskName(ref, 0), s.identity(ref))
				return nil
			},
			Count:     b.count,
			Rotate:    b.rotate,
			Elsewhere: b.elsewhere,
		},
	}
}

func (b *bench) inject(v providertest.Verb, f providertest.Fault) error {
	operation, ok := operations[v]
	switch {
	case !ok:
		return providertest.Skip("the simulator has no fault for the verb " + string(v))
	case f.Duplicate:
		return providertest.Skip("Compute Engine makes one instance for a request's ID")
	case f.Partial > 0:
		operation = strings.TrimSuffix(operation, "*") + " page"
	}
	if f.Slow > 0 {
		b.clock.Advance(f.Slow)
	}
	b.server.Inject(double.Fault{
		Failure:   double.Failure{Kind: string(f.Kind), After: f.After, Scope: string(f.Scope)},
		Operation: operation, Times: 1, Done: f.Done, Stall: f.Stall,
	})
	return nil
}

// plant creates an instance as the provider or as the originals do: in another zone if the name is in use.
func (b *bench) plant(class provider.Class, i provider.Instance) error {
	s := b.open(class)
	labels := map[string]any{}
	tags := s.plan.tags()
	if class.API == provider.OpenShift {
		labels[s.clusterLabel()] = owned
	}
	if i.UID != "" {
		labels[s.clusterLabel()], labels[uidLabel], labels[namespaceLabel] = owned, i.UID, "machines"
		if i.Namespace != "" {
			labels[namespaceLabel] = i.Namespace
		}
		if class.Owner != "" {
			labels[ownerLabel] = class.Owner
		}
	}
	var items []any
	for _, t := range tags {
		items = append(items, t)
	}
	body := map[string]any{
		"name": i.Name, "machineType": "zones/us-east1-b/machineTypes/n1-standard-4", "labels": labels, "tags": map[string]any{"items": items},
		"disks":             []any{map[string]any{"boot": true, "autoDelete": true, "initializeParams": map[string]any{"labels": labels, "diskSizeGb": "20"}}},
		"networkInterfaces": []any{map[string]any{"network": "projects/rehearsal/global/networks/prod-network"}},
	}
	if err := b.cloud.Plant("us-east1-b", body); err != nil {
		return b.cloud.Plant("us-east1-c", body)
	}
	return nil
}

// count reads the resources of a cluster without the provider.
func (b *bench) count(class provider.Class) (instances, dependants int, err error) {
	key := clusterPrefix + class.Cluster
	for _, i := range b.cloud.Instances() {
		if _, ok := i.Tags[key]; ok {
			instances++
		}
	}
	for _, d := range b.cloud.Disks() {
		if _, ok := d.Labels[key]; ok {
			dependants++
		}
	}
	return instances, dependants, nil
}

func (b *bench) rotate(class provider.Class) (provider.Class, error) {
	b.cloud.RevokeKeys(machines)
	b.issue()
	class.Credentials = map[string][]byte{loginKey[class.API]: b.login}
	return class, nil
}

// elsewhere is another project, in another simulator.
func (b *bench) elsewhere(ctx context.Context, class provider.Class) (provider.Session, error) {
	other := newBench(b.t, func(o *gce.Options) { o.Inventory.Project = "elsewhere" })
	class.Credentials = map[string][]byte{loginKey[class.API]: other.login}
	class.Spec = []byte(strings.ReplaceAll(string(class.Spec), `"rehearsal"`, `"elsewhere"`))
	return other.start().Open(ctx, class)
}

// badSpecs have one error each.
var badSpecs = []providertest.BadSpec{
	{Reason: "an instance has a type", API: provider.OpenShift, Field: "machineType", Spec: `{"region": "r", "zone": "r-b", "disks": [{"image": "i", "boot": true}], "networkInterfaces": [{"network": "n"}]}`},
	{Reason: "an instance is in a zone", API: provider.OpenShift, Field: "zone", Spec: `{"region": "r", "machineType": "t", "disks": [{"image": "i", "boot": true}], "networkInterfaces": [{"network": "n"}]}`},
	{Reason: "a boot disk has an image", API: provider.OpenShift, Field: "disks[0].image", Spec: `{"region": "r", "zone": "r-b", "machineType": "t", "disks": [{"boot": true}], "networkInterfaces": [{"network": "n"}]}`},
	{Reason: "one type of GPUs", API: provider.OpenShift, Field: "gpus", Spec: `{"region": "r", "zone": "r-b", "machineType": "t", "gpus": [{"type": "a"}, {"type": "b"}], "disks": [{"image": "i", "boot": true}], "networkInterfaces": [{"network": "n"}]}`},
	{Reason: "spot instances are not restarted", API: provider.OpenShift, Field: "restartPolicy", Spec: `{"region": "r", "zone": "r-b", "machineType": "t", "preemptible": true, "restartPolicy": "Always", "disks": [{"image": "i", "boot": true}], "networkInterfaces": [{"network": "n"}]}`},
	{Reason: "a pool has a name", API: provider.OpenShift, Field: "targetPools[0]", Spec: `{"region": "r", "zone": "r-b", "machineType": "t", "targetPools": [""], "disks": [{"image": "i", "boot": true}], "networkInterfaces": [{"network": "n"}]}`},
	{Reason: "an instance has a type", API: provider.Gardener, Field: "machineType", Spec: `{"region": "r", "zone": "r-b", "disks": [{"image": "i", "boot": true}], "networkInterfaces": [{"network": "n"}], "scheduling": {"onHostMaintenance": "MIGRATE"}}`},
	{Reason: "a scratch disk has an interface", API: provider.Gardener, Field: "disks[0].interface", Spec: `{"region": "r", "zone": "r-b", "machineType": "t", "disks": [{"type": "SCRATCH"}], "networkInterfaces": [{"network": "n"}], "scheduling": {"onHostMaintenance": "MIGRATE"}}`},
	{Reason: "maintenance is one of two", API: provider.Gardener, Field: "scheduling.onHostMaintenance", Spec: `{"region": "r", "zone": "r-b", "machineType": "t", "disks": [{"image": "i"}], "networkInterfaces": [{"network": "n"}]}`},
	{Reason: "an interface is in a network", API: provider.Gardener, Field: "networkInterfaces[0]", Spec: `{"region": "r", "zone": "r-b", "machineType": "t", "disks": [{"image": "i"}], "networkInterfaces": [{}], "scheduling": {"onHostMaintenance": "MIGRATE"}}`},
	{Reason: "the user data has its own place", API: provider.Gardener, Field: "metadata[0].key", Spec: `{"region": "r", "zone": "r-b", "machineType": "t", "disks": [{"image": "i"}], "metadata": [{"key": "user-data"}], "networkInterfaces": [{"network": "n"}], "scheduling": {"onHostMaintenance": "MIGRATE"}}`},
}
