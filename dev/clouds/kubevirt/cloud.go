package kubevirt

import (
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/kubeapi"
)

// Options are the options of a cluster.
type Options struct {
	Inventory Inventory
	// AcceptAny accepts unknown zones, networks and claims.
	AcceptAny bool
	// Import is how long a data volume is being filled, Boot the time from then until an instance runs, Delete the time
	// until a virtual machine is deleted; 0 means 1 s, 2 s and 2 s.
	Import, Boot, Delete time.Duration
	// PageSize is the maximum page size of a list; 0: the requested size.
	PageSize int
	// Without are resources that the cluster does not serve: "virtualmachines" if KubeVirt is not installed.
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

// memory has the objects of the API server, and the history of virtual machines.
type memory struct {
	*kubeapi.Memory
	// lives is the history of virtual machines, by UID.
	lives map[string]*life
}

var (
	_ double.Cloud       = &Cloud{}
	_ double.Host        = &Cloud{}
	_ double.Inspected   = &Cloud{}
	_ double.Exhaustible = &Cloud{}
)

// New returns a cluster without virtual machines.
func New(clock *double.Clock, o Options) *Cloud {
	o.Import, o.Boot, o.Delete = double.Or(o.Import, time.Second), double.Or(o.Boot, 2*time.Second), double.Or(o.Delete, 2*time.Second)
	m := &memory{kubeapi.NewMemory(clock, resources...), map[string]*life{}}
	m.Made, m.Buried = m.begin, m.ended
	c := &controller{memory: m, Options: o}
	c.SetCapacity(o.Inventory.Room)
	cloud := &Cloud{controller: c, Server: kubeapi.NewServer(m.Memory, c, kubeapi.Options{
		Namespaces: o.Inventory.Namespaces, Users: o.Inventory.Users, PageSize: o.PageSize, Without: o.Without,
		Webhook: "virtualmachine-validator.kubevirt.io",
		Field:   kubeapi.Wrong(memoryPath, memoryPath+" must be less than 1Ti"),
	})}
	cloud.Controls = cloud.controls()
	return cloud
}

const memoryPath = "spec.template.spec.domain.resources.requests.memory"

var resources = []kubeapi.Resource{
	{Version: "v1", Name: "secrets", Kind: "Secret"},
	{Version: "v1", Name: "persistentvolumeclaims", Kind: "PersistentVolumeClaim"},
	{Group: "kubevirt.io", Version: "v1", Name: "virtualmachines", Kind: "VirtualMachine"},
	{Group: "kubevirt.io", Version: "v1", Name: "virtualmachineinstances", Kind: "VirtualMachineInstance"},
	{Group: "cdi.kubevirt.io", Version: "v1beta1", Name: "datavolumes", Kind: "DataVolume"},
}

// begin records the creation of a virtual machine.
func (m *memory) begin(o object) {
	if o.Kind() == "VirtualMachine" {
		m.lives[o.UID()] = &life{since: m.Clock.Now(), made: m.Clock.Now()}
	}
}

// ended records the end of an instance.
func (m *memory) ended(o object) {
	if o.Kind() != "VirtualMachineInstance" {
		return
	}
	for _, uid := range o.Owners() {
		if l := m.lives[uid]; l != nil {
			l.since = m.Clock.Now()
		}
	}
}

// Delete implements [kubeapi.Controller]: the deletion of a virtual machine takes time.
func (c *controller) Delete(o object, now time.Time) object {
	if o.Kind() != "VirtualMachine" {
		return nil
	}
	if !o.Dying() {
		o = o.Clone()
		o.Set(kubeapi.Stamp(now), "metadata", "deletionTimestamp")
		c.lives[o.UID()].deleted = now
		c.Keep(c.Named("virtualmachines"), o)
	}
	return o
}
