package metal3

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/kubeapi"
	"github.com/millwright-dev/millwright/dev/clouds/metal3/host"
)

// Options are the options of a cluster.
type Options struct {
	Inventory Inventory
	// AcceptAny generates hosts: at any time, as many hosts of each kind are free as in the inventory.
	AcceptAny bool
	// Knobs are the durations of hosts; zero values mean 1 s to 2 s.
	Knobs host.Knobs
	// PageSize is the maximum page size of a list; 0: the requested size.
	PageSize int
	// Without are resources that the cluster does not serve: "baremetalhosts" if Metal3 is not installed.
	Without []string
}

// Cloud is the simulator. It implements [double.Cloud], [double.Host] and [double.Inspected].
type Cloud struct {
	*kubeapi.Server
	*controller
	double.Controls
}

// Rule is a rule of a Role.
type Rule = kubeapi.Rule

type object = kubeapi.Object

var (
	_ double.Cloud     = &Cloud{}
	_ double.Host      = &Cloud{}
	_ double.Inspected = &Cloud{}
)

const (
	hosts    = "baremetalhosts"
	hostKind = "BareMetalHost"
)

var resources = []kubeapi.Resource{
	{Version: "v1", Name: "secrets", Kind: "Secret"},
	{Group: "metal3.io", Version: "v1alpha1", Name: hosts, Kind: hostKind},
}

// controller is the simulated baremetal-operator.
type controller struct {
	*kubeapi.Memory
	knobs host.Knobs
	made  int // the number of hosts
	// endless are the generated kinds of hosts, by namespace.
	endless map[string][]Hosts
	// rests are the versions of hosts, by UID, that do not change without a write. They are remembered because there are many of
	// them, and they are read often.
	rests map[string]string
}

// New returns a cluster whose hosts are free.
func New(clock *double.Clock, o Options) *Cloud {
	c := &controller{Memory: kubeapi.NewMemory(clock, resources...), rests: map[string]string{}, endless: map[string][]Hosts{}, knobs: host.Knobs{
		Step: double.Or(o.Knobs.Step, time.Second), Provision: double.Or(o.Knobs.Provision, 2*time.Second),
		Deprovision: double.Or(o.Knobs.Deprovision, 2*time.Second), Power: double.Or(o.Knobs.Power, 2*time.Second),
	}}
	for _, n := range o.Inventory.Namespaces {
		if o.AcceptAny {
			c.endless[n.Name] = o.Inventory.Hosts
		}
		for _, h := range o.Inventory.Hosts {
			for _, name := range h.names() {
				c.add(n.Name, name, h)
			}
		}
	}
	cloud := &Cloud{controller: c, Server: kubeapi.NewServer(c.Memory, c, kubeapi.Options{
		Namespaces: o.Inventory.Namespaces, Users: o.Inventory.Users, PageSize: o.PageSize, Without: o.Without,
		Webhook: "baremetalhost.metal3.io", Field: kubeapi.Wrong("spec.image.url", "spec.image.url is no URL"),
	})}
	cloud.Controls = cloud.controls()
	return cloud
}

// add creates a host that is free, or externally provisioned.
func (c *controller) add(namespace, name string, h Hosts) object {
	c.made++
	state, poweredOn := metal3.StateAvailable, false
	if h.ExternallyProvisioned {
		state, poweredOn = metal3.StateExternallyProvisioned, true
	}
	ip := fmt.Sprintf("10.128.%d.%d", c.made>>8&255, c.made&255)
	mac := fmt.Sprintf("52:54:00:00:%02x:%02x", c.made>>8&255, c.made&255)
	return c.Put(c.Named(hosts), namespace, object{
		"metadata": map[string]any{
			"name": name, "labels": kubeapi.Any(h.Labels), "annotations": map[string]any{}, "finalizers": []any{metal3.BareMetalHostFinalizer},
		},
		"spec": map[string]any{
			"bmc":            map[string]any{"address": "redfish://" + name + ".bmc.example.com/redfish/v1/Systems/1", "credentialsName": name + "-bmc"},
			"bootMACAddress": mac, "online": poweredOn, "externallyProvisioned": h.ExternallyProvisioned,
		},
		"status": map[string]any{
			"operationalStatus": string(metal3.OperationalStatusOK), "errorMessage": "", "errorCount": 0, "poweredOn": poweredOn,
			"provisioning": map[string]any{"state": string(state), "ID": strconv.Itoa(c.made)},
			"hardware": map[string]any{
				"hostname": name + "." + namespace, "ramMebibytes": h.MemoryMiB, "cpu": map[string]any{"arch": cmp.Or(h.Arch, "x86_64"), "count": h.CPUs},
				"nics": []any{map[string]any{"name": "eth0", "mac": mac, "ip": ip, "pxe": true}, map[string]any{"name": "eth1", "mac": mac[:15] + "ff"}},
			},
		},
	})
}

// read decodes a host into the types of Metal3.
func read(o object) (h host.Host, err error) {
	raw, err := json.Marshal(o)
	if err != nil {
		return h, err
	}
	return host.Read(raw)
}

// Settle implements [kubeapi.Controller].
func (c *controller) Settle(now time.Time) {
	for _, o := range c.Of(hostKind) {
		for range 8 { // as far as it gets without waiting
			next := c.settle(o, now)
			if next == nil {
				break
			}
			o = next
		}
	}
	for namespace, kinds := range c.endless {
		for _, h := range kinds {
			for range len(h.names()) - c.free(namespace, h.Labels) {
				c.add(namespace, fmt.Sprintf("%s-%d", h.Name, c.made+1), h)
			}
		}
	}
}

// free counts the hosts with the labels that are free.
func (c *controller) free(namespace string, labels map[string]string) (n int) {
	for _, o := range c.Of(hostKind) {
		is := o.Namespace() == namespace && !o.Dying() && o.At("spec", "consumerRef") == nil && o.Text("status", "errorMessage") == "" &&
			o.Text("status", "provisioning", "state") == string(metal3.StateAvailable)
		for key, value := range labels {
			is = is && o.Text("metadata", "labels", key) == value
		}
		if is {
			n++
		}
	}
	return n
}

// settle moves a host one step further; nil: the host does not exist, or was deleted.
func (c *controller) settle(o object, now time.Time) object {
	version := o.Text("metadata", "resourceVersion")
	if c.rests[o.UID()] == version {
		return nil
	}
	before, err := read(o)
	if err != nil {
		return nil
	}
	after := host.Next(before, now, c.knobs)
	if after.DeletionTimestamp != nil && len(after.Finalizers) == 0 {
		c.Bury(o)
		return nil
	}
	if metadata, status := host.Changed(before, after); !metadata && !status {
		if at := before.Status.LastUpdated; at == nil || now.Sub(at.Time) > max(c.knobs.Step, c.knobs.Provision, c.knobs.Deprovision, c.knobs.Power) {
			c.rests[o.UID()] = version
		}
		return nil
	}
	raw, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": after.Annotations, "finalizers": after.Finalizers}, "status": after.Status})
	var changed object
	if err != nil || json.Unmarshal(raw, &changed) != nil {
		return nil
	}
	o = o.Clone()
	o.Set(changed.At("metadata", "annotations"), "metadata", "annotations")
	o.Set(changed.At("metadata", "finalizers"), "metadata", "finalizers")
	o["status"] = changed["status"]
	return c.Keep(c.Named(hosts), o)
}

// Delete implements [kubeapi.Controller]: a host is deleted after it is deprovisioned.
func (c *controller) Delete(o object, now time.Time) object {
	if o.Kind() != hostKind || len(o.List("metadata", "finalizers")) == 0 {
		return nil
	}
	if !o.Dying() {
		o = o.Clone()
		o.Set(kubeapi.Stamp(now), "metadata", "deletionTimestamp")
		c.Keep(c.Named(hosts), o)
	}
	return o
}

// Guests implements [double.Host].
func (c *Cloud) Guests() (all []double.Guest) {
	c.While(func(time.Time) { all = c.guests() })
	return all
}

func (c *controller) guests() (all []double.Guest) {
	for _, o := range c.Of(hostKind) {
		h, err := read(o)
		if err != nil || !h.Runs() || h.Spec.ConsumerRef == nil {
			continue
		}
		secret := object{}
		if ref := h.Spec.UserData; ref != nil {
			secret, _ = c.Objects.Get(kubeapi.Key("secrets", ref.Namespace, ref.Name))
		}
		all = append(all, Guest(h, secret.Text("data", "userData")))
	}
	return all
}

// consumed are the hosts with a consumer.
func (c *controller) consumed() []object {
	return slices.DeleteFunc(c.Of(hostKind), func(o object) bool { return o.At("spec", "consumerRef") == nil })
}
