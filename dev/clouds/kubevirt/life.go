package kubevirt

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// life is what befell a virtual machine.
type life struct {
	made, deleted time.Time
	// since is when it was to have an instance: from the beginning, after it was off, after its last one ended.
	since time.Time
	off   bool
	// failed says that it was accepted, and no node has room for it.
	failed bool
	boots  int
	ip     string
}

// controller is what KubeVirt and CDI do.
type controller struct {
	*memory
	Options
	room map[string]int
}

// settle does what time has done since it was last looked at.
func (c *controller) settle(now time.Time) {
	for _, o := range c.objects.All() {
		if o.text("kind") == "VirtualMachine" {
			c.reconcile(o, now)
		}
	}
}

// reconcile is what KubeVirt and CDI do for a virtual machine.
func (c *controller) reconcile(o object, now time.Time) {
	l := c.lives[o.uid()]
	if o.dying() {
		if now.Sub(l.deleted) >= c.Delete {
			c.bury(o)
			return
		}
		c.show(o, shown{printable: "Terminating"})
		return
	}
	filled, ready := c.fill(o, l, now)
	running, _ := c.objects.Get(key("virtualmachineinstances", o.text("metadata", "namespace"), o.name()))
	if off := !wanted(o); off {
		l.off = true
		if running != nil {
			c.bury(running)
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

// wanted reports whether it is to run.
func wanted(o object) bool {
	if running, ok := o.at("spec", "running").(bool); ok {
		return running
	}
	return slices.Contains([]string{"Always", "RerunOnFailure"}, o.text("spec", "runStrategy"))
}

// fill makes the data volumes of a virtual machine, and says whether all of them are there, and since when.
func (c *controller) fill(o object, l *life, now time.Time) (filled bool, since time.Time) {
	filled, since = true, l.made.Add(c.Import)
	namespace := o.text("metadata", "namespace")
	for _, t := range o.list("spec", "dataVolumeTemplates") {
		template := object(t.(map[string]any)) //nolint:forcetypeassert // It was judged.
		v, ok := c.objects.Get(key("datavolumes", namespace, template.name()))
		if !ok {
			v = template.clone()
			v.set(o.owner(), "metadata", "ownerReferences")
			v.set(stamp(l.made), "metadata", "creationTimestamp")
			v.set("ImportInProgress", "status", "phase")
			v = c.put(named("datavolumes"), namespace, v)
			claim := object{"metadata": map[string]any{"name": v.name(), "ownerReferences": v.owner()}}
			for _, part := range []string{"labels", "annotations"} {
				claim.set(v.clone().at("metadata", part), "metadata", part)
			}
			c.put(named("persistentvolumeclaims"), namespace, claim)
		}
		switch {
		case v.text("status", "phase") == "Succeeded":
		case now.Sub(l.made) < c.Import || !c.sourced(v):
			filled = false
		default:
			v = v.clone()
			v.set("Succeeded", "status", "phase")
			c.keep(named("datavolumes"), v)
		}
	}
	return filled, since
}

// sourced reports whether what a data volume is a clone of is there.
func (c *controller) sourced(v object) bool {
	name := v.text("spec", "source", "pvc", "name")
	return name == "" || c.AcceptAny || slices.Contains(c.Inventory.Claims, name)
}

// lacking is the claim that a virtual machine shows, and that there is not.
func (c *controller) lacking(o object) string {
	for _, v := range o.list("spec", "template", "spec", "volumes") {
		name := object(v.(map[string]any)).text("persistentVolumeClaim", "claimName") //nolint:forcetypeassert // It was judged.
		if name == "" || c.AcceptAny || slices.Contains(c.Inventory.Claims, name) {
			continue
		}
		if _, ok := c.objects.Get(key("persistentvolumeclaims", o.text("metadata", "namespace"), name)); !ok {
			return fmt.Sprintf("PVC %s/%s not found", o.text("metadata", "namespace"), name)
		}
	}
	return ""
}

// start makes an instance.
func (c *controller) start(o object, l *life, at time.Time) object {
	l.boots++
	i := object{"spec": o.clone().at("spec", "template", "spec"), "status": map[string]any{"phase": "Scheduling"}}
	i.set(o.name(), "metadata", "name")
	i.set(o.clone().at("spec", "template", "metadata", "labels"), "metadata", "labels")
	i.set(o.owner(), "metadata", "ownerReferences")
	i.set(stamp(at), "metadata", "creationTimestamp")
	return c.put(named("virtualmachineinstances"), o.text("metadata", "namespace"), i)
}

// boot is an instance on its way.
func (c *controller) boot(o, i object, l *life, now time.Time) {
	began, _ := time.Parse(time.RFC3339, i.text("metadata", "creationTimestamp"))
	stuck := func(printable string, why map[string]any) {
		c.showInstance(i, "Scheduling", "", why)
		c.show(o, shown{printable: printable, condition: why, created: true})
	}
	running := i.text("status", "phase") == "Running"
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
		n, _ := strconv.Atoi(c.next())
		l.ip = fmt.Sprintf("10.244.%d.%d", n>>8&255, n&255)
	}
	c.showInstance(i, "Running", l.ip, nil)
	c.show(o, shown{printable: "Running", created: true, ready: true})
}

// unplaced is why no node takes a virtual machine.
func (c *controller) unplaced(o object, l *life) string {
	if l.failed {
		return "0/3 nodes are available: 3 Insufficient memory."
	}
	zone := zoneOf(o)
	if zone != "" && !c.AcceptAny && !slices.Contains(c.Inventory.Zones, zone) {
		return "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector."
	}
	if left, bounded := c.room[zone]; bounded && left <= c.placed(zone, o.uid()) {
		return "0/3 nodes are available: 1 Insufficient memory, 2 node(s) didn't match Pod's node affinity/selector."
	}
	return ""
}

// placed is how many others run in the zone.
func (c *controller) placed(zone, but string) (n int) {
	for _, o := range c.objects.All() {
		if o.text("kind") == "VirtualMachine" && o.uid() != but && zoneOf(o) == zone && o.text("status", "printableStatus") == "Running" {
			n++
		}
	}
	return n
}

func zoneOf(o object) string {
	return o.texts("spec", "template", "spec", "nodeSelector")["topology.kubernetes.io/zone"]
}

// unlaunched is why the pod of an instance cannot be made.
func (c *controller) unlaunched(o object) string {
	for _, n := range o.list("spec", "template", "spec", "networks") {
		name := object(n.(map[string]any)).text("multus", "networkName") //nolint:forcetypeassert // It was judged.
		if name != "" && !c.AcceptAny && !slices.Contains(c.Inventory.Networks, name) {
			return "failed to render launch manifest: Failed to locate network attachment definition " + o.text("metadata", "namespace") + "/" + name
		}
	}
	return ""
}

// given reports whether the secret of the guest is there, without which its pod waits.
func (m *memory) given(o object) bool {
	_, wants, there := m.secretOf(o)
	return !wants || there
}

func (m *memory) secretOf(o object) (secret object, wants, there bool) {
	for _, v := range o.list("spec", "template", "spec", "volumes") {
		volume := object(v.(map[string]any)) //nolint:forcetypeassert // It was judged.
		for _, source := range []string{"cloudInitNoCloud", "cloudInitConfigDrive"} {
			if name := volume.text(source, "secretRef", "name"); name != "" {
				secret, there = m.objects.Get(key("secrets", o.text("metadata", "namespace"), name))
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
	return map[string]any{"type": kind, "status": is, "reason": reason, "message": message, "lastTransitionTime": stamp(since), "lastProbeTime": nil}
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
	m.change(named("virtualmachines"), o, status)
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
	m.change(named("virtualmachineinstances"), i, status)
}

// change writes a status where it is another one than before.
func (m *memory) change(r resource, o object, status map[string]any) {
	if reflect.DeepEqual(o["status"], any(status)) {
		return
	}
	o = o.clone()
	o["status"] = status
	m.keep(r, o)
}

// Guests implements [double.Host]. Names and IDs are those of cloud-provider-kubevirt: the virtual machine's name, kubevirt://<name>.
func (c *Cloud) Guests() (all []double.Guest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(c.clock.Now())
	for _, o := range c.objects.All() {
		if o.text("kind") != "VirtualMachine" || o.text("status", "printableStatus") != "Running" {
			continue
		}
		l := c.lives[o.uid()]
		host, _, _ := strings.Cut(o.name(), ".")
		g := double.Guest{
			ID: o.uid(), NodeName: host, ProviderID: "kubevirt://" + o.name(), Addresses: []string{l.ip}, Boots: l.boots,
			Region: c.Inventory.Region, Zone: zoneOf(o),
		}
		if secret, _, there := c.secretOf(o); there {
			g.UserData, _ = base64.StdEncoding.DecodeString(secret.text("data", "userdata"))
		}
		all = append(all, g)
	}
	return all
}
