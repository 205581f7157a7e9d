package kubevirt

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/kubeapi"
)

// life is the history of a virtual machine.
type life struct {
	made, deleted time.Time
	// since is the time from which on it should have an instance: its creation, its power on, or the end of its last
	// instance.
	since time.Time
	off   bool
	// failed: it was accepted, but no node has capacity for it.
	failed bool
	boots  int
	ip     string
}

// controller simulates KubeVirt and CDI.
type controller struct {
	*memory
	Options
	double.Capacity // of zones
}

// Settle implements [kubeapi.Controller].
func (c *controller) Settle(now time.Time) {
	for _, o := range c.Of("VirtualMachine") {
		c.reconcile(o, now)
	}
}

// reconcile does the work of KubeVirt and CDI for a virtual machine.
func (c *controller) reconcile(o object, now time.Time) {
	l := c.lives[o.UID()]
	if o.Dying() {
		if now.Sub(l.deleted) >= c.Options.Delete {
			c.Bury(o)
			return
		}
		c.show(o, shown{printable: "Terminating"})
		return
	}
	filled, ready := c.fill(o, l, now)
	running, _ := c.Objects.Get(kubeapi.Key("virtualmachineinstances", o.Namespace(), o.Name()))
	if off := !wanted(o); off {
		l.off = true
		if running != nil {
			c.Bury(running)
		}
		c.show(o, shown{printable: "Stopped"})
		return
	}
	if l.off {
		l.off, l.since = false, now
	}
	if at := l.since; ready.Before(at) {
		ready = at
	}
	switch lacks := c.lacking(o); {
	case lacks != "":
		c.show(o, shown{printable: "ErrorPvcNotFound", condition: condition("Failure", "True", "PVCNotFound", lacks, l.since)})
		return
	case !filled:
		c.show(o, shown{printable: "Provisioning"})
		return
	}
	if running == nil {
		running = c.start(o, l, ready)
	}
	c.boot(o, running, l, now)
}

// wanted reports whether the virtual machine should run.
func wanted(o object) bool {
	if running, ok := o.At("spec", "running").(bool); ok {
		return running
	}
	return slices.Contains([]string{"Always", "RerunOnFailure"}, o.Text("spec", "runStrategy"))
}

// fill creates the data volumes of a virtual machine. It reports whether all of them are ready, and the time since
// when.
func (c *controller) fill(o object, l *life, now time.Time) (filled bool, since time.Time) {
	filled, since = true, l.made.Add(c.Import)
	namespace := o.Namespace()
	for _, t := range o.List("spec", "dataVolumeTemplates") {
		template := object(t.(map[string]any)) //nolint:forcetypeassert // It was judged.
		v, ok := c.Objects.Get(kubeapi.Key("datavolumes", namespace, template.Name()))
		if !ok {
			v = template.Clone()
			v.Set(o.Owner(), "metadata", "ownerReferences")
			v.Set(kubeapi.Stamp(l.made), "metadata", "creationTimestamp")
			v.Set("ImportInProgress", "status", "phase")
			v = c.Put(c.Named("datavolumes"), namespace, v)
			claim := object{"metadata": map[string]any{"name": v.Name(), "ownerReferences": v.Owner()}}
			for _, part := range []string{"labels", "annotations"} {
				claim.Set(v.Clone().At("metadata", part), "metadata", part)
			}
			c.Put(c.Named("persistentvolumeclaims"), namespace, claim)
		}
		switch {
		case v.Text("status", "phase") == "Succeeded":
		case now.Sub(l.made) < c.Import || !c.sourced(v):
			filled = false
		default:
			v = v.Clone()
			v.Set("Succeeded", "status", "phase")
			c.Keep(c.Named("datavolumes"), v)
		}
	}
	return filled, since
}

// sourced reports whether the source of a cloned data volume exists.
func (c *controller) sourced(v object) bool {
	name := v.Text("spec", "source", "pvc", "name")
	return name == "" || c.AcceptAny || slices.Contains(c.Inventory.Claims, name)
}

// lacking is a claim that the virtual machine needs and that does not exist.
func (c *controller) lacking(o object) string {
	for _, v := range o.List("spec", "template", "spec", "volumes") {
		name := object(v.(map[string]any)).Text("persistentVolumeClaim", "claimName") //nolint:forcetypeassert // It was judged.
		if name == "" || c.AcceptAny || slices.Contains(c.Inventory.Claims, name) {
			continue
		}
		if _, ok := c.Objects.Get(kubeapi.Key("persistentvolumeclaims", o.Namespace(), name)); !ok {
			return fmt.Sprintf("PVC %s/%s not found", o.Namespace(), name)
		}
	}
	return ""
}

// start creates an instance.
func (c *controller) start(o object, l *life, at time.Time) object {
	l.boots++
	i := object{"spec": o.Clone().At("spec", "template", "spec"), "status": map[string]any{"phase": "Scheduling"}}
	i.Set(o.Name(), "metadata", "name")
	i.Set(o.Clone().At("spec", "template", "metadata", "labels"), "metadata", "labels")
	i.Set(o.Owner(), "metadata", "ownerReferences")
	i.Set(kubeapi.Stamp(at), "metadata", "creationTimestamp")
	return c.Put(c.Named("virtualmachineinstances"), o.Namespace(), i)
}

// boot advances the boot of an instance.
func (c *controller) boot(o, i object, l *life, now time.Time) {
	began, _ := time.Parse(time.RFC3339, i.Text("metadata", "creationTimestamp"))
	stuck := func(printable string, why map[string]any) {
		c.showInstance(i, "Scheduling", "", why)
		c.show(o, shown{printable: printable, condition: why, created: true})
	}
	running := i.Text("status", "phase") == "Running"
	if message := c.unplaced(o, l); message != "" && !running {
		stuck("ErrorUnschedulable", condition("PodScheduled", "False", "Unschedulable", message, began))
		return
	}
	if message := c.unlaunched(o); message != "" && !running {
		stuck("Starting", condition("Synchronized", "False", "FailedCreate", message, began))
		return
	}
	if now.Sub(began) < c.Boot || !c.given(o) {
		c.showInstance(i, "Scheduled", "", nil)
		c.show(o, shown{printable: "Starting", created: true})
		return
	}
	if l.ip == "" {
		n, _ := strconv.Atoi(c.Next())
		l.ip = fmt.Sprintf("10.244.%d.%d", n>>8&255, n&255)
	}
	c.showInstance(i, "Running", l.ip, nil)
	c.show(o, shown{printable: "Running", created: true, ready: true})
}

// unplaced is the reason for which the virtual machine fits on no node.
func (c *controller) unplaced(o object, l *life) string {
	if l.failed {
		return "0/3 nodes are available: 3 Insufficient memory."
	}
	zone := zoneOf(o)
	if zone != "" && !c.AcceptAny && !slices.Contains(c.Inventory.Zones, zone) {
		return "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector."
	}
	if c.Full(map[string]int{zone: c.placed(zone, o.UID())}, zone) {
		return "0/3 nodes are available: 1 Insufficient memory, 2 node(s) didn't match Pod's node affinity/selector."
	}
	return ""
}

// placed is the number of other virtual machines in the zone.
func (c *controller) placed(zone, but string) (n int) {
	for _, o := range c.Of("VirtualMachine") {
		if o.UID() != but && zoneOf(o) == zone && o.Text("status", "printableStatus") == "Running" {
			n++
		}
	}
	return n
}

func zoneOf(o object) string {
	return o.Texts("spec", "template", "spec", "nodeSelector")["topology.kubernetes.io/zone"]
}

// unlaunched is the reason for which the pod of an instance cannot be created.
func (c *controller) unlaunched(o object) string {
	for _, n := range o.List("spec", "template", "spec", "networks") {
		name := object(n.(map[string]any)).Text("multus", "networkName") //nolint:forcetypeassert // It was judged.
		if name != "" && !c.AcceptAny && !slices.Contains(c.Inventory.Networks, name) {
			return "failed to render launch manifest: Failed to locate network attachment definition " + o.Namespace() + "/" + name
		}
	}
	return ""
}

// given reports whether the guest's secret exists. The pod waits for it.
func (m *memory) given(o object) bool {
	_, wants, there := m.secretOf(o)
	return !wants || there
}

func (m *memory) secretOf(o object) (secret object, wants, there bool) {
	for _, v := range o.List("spec", "template", "spec", "volumes") {
		volume := object(v.(map[string]any)) //nolint:forcetypeassert // It was judged.
		for _, source := range []string{"cloudInitNoCloud", "cloudInitConfigDrive"} {
			if name := volume.Text(source, "secretRef", "name"); name != "" {
				secret, there = m.Objects.Get(kubeapi.Key("secrets", o.Namespace(), name))
				return secret, true, there
			}
		}
	}
	return nil, false, false
}

// shown is the status of a virtual machine.
type shown struct {
	printable      string
	created, ready bool
	condition      map[string]any
}

func condition(kind, is, reason, message string, since time.Time) map[string]any {
	return map[string]any{"type": kind, "status": is, "reason": reason, "message": message, "lastTransitionTime": kubeapi.Stamp(since), "lastProbeTime": nil}
}

func (m *memory) show(o object, s shown) {
	status := map[string]any{"printableStatus": s.printable}
	if s.created {
		status["created"] = true
	}
	if s.ready {
		status["ready"] = true
	}
	if s.condition != nil {
		status["conditions"] = []any{s.condition}
	}
	m.Status(m.Named("virtualmachines"), o, status)
}

func (m *memory) showInstance(i object, phase, ip string, why map[string]any) {
	status := map[string]any{"phase": phase}
	if ip != "" {
		status["interfaces"] = []any{map[string]any{"name": "default", "ipAddress": ip, "ipAddresses": []any{ip}}}
		status["nodeName"] = "host-1"
	}
	if why != nil {
		status["conditions"] = []any{why}
	}
	m.Status(m.Named("virtualmachineinstances"), i, status)
}

// Guests implements [double.Host]. Names and provider IDs are those of cloud-provider-kubevirt: the virtual machine's name, and
// kubevirt://<name>.
func (c *Cloud) Guests() (all []double.Guest) {
	c.While(func(time.Time) {
		all = c.guests()
	})
	return all
}

func (c *controller) guests() (all []double.Guest) {
	for _, o := range c.Of("VirtualMachine") {
		if o.Text("status", "printableStatus") != "Running" {
			continue
		}
		l := c.lives[o.UID()]
		host, _, _ := strings.Cut(o.Name(), ".")
		g := double.Guest{
			ID: o.UID(), NodeName: host, ProviderID: "kubevirt://" + o.Name(), Addresses: []string{l.ip}, Boots: l.boots,
			Region: c.Inventory.Region, Zone: zoneOf(o),
		}
		if secret, _, there := c.secretOf(o); there {
			g.UserData, _ = base64.StdEncoding.DecodeString(secret.Text("data", "userdata"))
		}
		all = append(all, g)
	}
	return all
}
