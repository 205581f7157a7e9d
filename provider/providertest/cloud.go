package providertest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// Cloud is a small infrastructure in memory. Instances have one disk each, are found by tag, listed in
// pages, created under a client token, and disappear some time after their deletion. It has only the
// properties that providers have to handle. It is safe for concurrent use.
type Cloud struct {
	// Boot and Shutdown are how long an instance is Pending and Stopping.
	Boot, Shutdown time.Duration
	// Page is the number of instances on a page of a listing.
	Page int

	clock   provider.Clock
	account string

	mu     sync.Mutex
	lag    time.Duration
	vms    []*vm // in order of creation
	disks  []disk
	faults map[Verb][]Fault
	secret string // the valid password
}

// vm is an instance in the cloud's own form.
type vm struct {
	id, token, name  string
	spec             cloudSpec // the spec at its creation
	tags             map[string]string
	created, deleted time.Time
	off              bool
	reboot           string // the last request
	fault            *provider.Error
}

// disk is a dependant. It is deleted separately, and only while no instance uses it.
type disk struct{ id, cluster, uid, owner, namespace string }

// The tags by which the reference provider identifies its instances.
const (
	clusterTag   = "example/cluster"
	uidTag       = "example/machine-uid"
	ownerTag     = "example/owner"
	namespaceTag = "example/machine-namespace"
)

// NewCloud returns an empty cloud. Instances boot in 3 s and terminate in 2 s of the clock's time, listings
// have 5 instances to the page, and the password is "sesame".
func NewCloud(clock provider.Clock) *Cloud {
	return &Cloud{
		Boot: 3 * time.Second, Shutdown: 2 * time.Second, Page: 5,
		clock: clock, account: rand.Text(), faults: map[Verb][]Fault{}, secret: "sesame",
	}
}

// Inject is [Knobs.Inject], without Slow and Duplicate.
func (c *Cloud) Inject(v Verb, f Fault) error {
	if f.Slow > 0 || f.Duplicate {
		return Skip("the cloud is never slow and never buys twice; providertest.Faults can")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults[v] = append(slices.Clone(c.faults[v]), f)
	return nil
}

// Lag is [Knobs.Lag].
func (c *Cloud) Lag(d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lag = d
	return nil
}

// Plant is [Knobs.Plant].
func (c *Cloud) Plant(class provider.Class, i provider.Instance) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	tags := map[string]string{clusterTag: class.Cluster}
	if i.UID != "" {
		tags[uidTag], tags[ownerTag], tags[namespaceTag] = i.UID, class.Owner, i.Namespace
	}
	spec, err := cloudProvider{c}.decode(class)
	if err != nil {
		return err
	}
	c.add("", i.Name, tags, spec).created = c.clock.Now().Add(-c.Boot - c.lag)
	return nil
}

// Remove is [Knobs.Remove].
func (c *Cloud) Remove(_ provider.Class, id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.vm(id)
	if v == nil {
		return fmt.Errorf("no instance %s", id)
	}
	v.deleted = c.clock.Now().Add(-c.Shutdown)
	return nil
}

// GiveUp is [Knobs.GiveUp].
func (c *Cloud) GiveUp(_ provider.Class, id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.vm(id)
	if v == nil {
		return fmt.Errorf("no instance %s", id)
	}
	v.fault = provider.Errorf(provider.Exhausted, "no host has room for %s", id)
	return nil
}

// Strip is [Knobs.Strip] of c: it removes the tag of the namespace.
func Strip(c *Cloud) func(provider.Class, string) error {
	return func(_ provider.Class, id string) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		v := c.vm(id)
		if v == nil {
			return fmt.Errorf("no instance %s", id)
		}
		delete(v.tags, namespaceTag)
		return nil
	}
}

// Leave is [Knobs.Leave]: a disk without an instance.
func (c *Cloud) Leave(class provider.Class, ref provider.Ref) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addDisk(class.Cluster, ref.UID, class.Owner, ref.Namespace)
	return nil
}

// Count is [Knobs.Count].
func (c *Cloud) Count(class provider.Class) (instances, dependants int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, v := range c.vms {
		if v.tags[clusterTag] == class.Cluster && c.stateOf(v) != provider.Terminated {
			instances++
		}
	}
	for _, d := range c.disks {
		if d.cluster == class.Cluster {
			dependants++
		}
	}
	return instances, dependants, nil
}

// Rotate is [Knobs.Rotate].
func (c *Cloud) Rotate(class provider.Class) (provider.Class, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.secret += "-rotated"
	class.Credentials = map[string][]byte{"password": []byte(c.secret)}
	return class, nil
}

// call is the path of every request: authentication, then the fault that is set for the verb. do does the
// work, under the lock. A fault that stalls waits for ctx outside of it.
func (c *Cloud) call(ctx context.Context, v Verb, password string, do func() error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s request: %w", v, err)
	}
	f, err := c.answer(v, password, do)
	if f.Stall {
		<-ctx.Done()
		return fmt.Errorf("%s request: %w", v, ctx.Err())
	}
	return err
}

func (c *Cloud) answer(v Verb, password string, do func() error) (Fault, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if password != c.secret {
		return Fault{}, provider.Errorf(provider.Denied, "wrong password")
	}
	var f Fault
	if q := c.faults[v]; len(q) > 0 && q[0].Partial > 0 {
		q[0].Partial -= c.Page
	} else if len(q) > 0 {
		f, c.faults[v] = q[0], q[1:]
	}
	if f.Done || f.Kind == "" && !f.Stall {
		if err := do(); err != nil {
			return f, err
		}
	}
	return f, f.err(v)
}

// run creates an instance, or returns the one created under the token before.
func (c *Cloud) run(token, name string, tags map[string]string, spec cloudSpec) *vm {
	for _, v := range c.vms {
		if v.token == token {
			return v
		}
	}
	return c.add(token, name, tags, spec)
}

func (c *Cloud) add(token, name string, tags map[string]string, spec cloudSpec) *vm {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", name, len(c.vms)))
	v := &vm{id: "i-" + hex.EncodeToString(sum[:6]), token: token, name: name, tags: maps.Clone(tags), spec: spec, created: c.clock.Now()}
	c.vms = append(c.vms, v)
	c.addDisk(tags[clusterTag], cmpOr(tags[uidTag], v.id), tags[ownerTag], tags[namespaceTag])
	return v
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// addDisk creates the disk for uid, unless it exists.
func (c *Cloud) addDisk(cluster, uid, owner, namespace string) {
	d := disk{id: "disk-" + uid, cluster: cluster, uid: uid, owner: owner, namespace: namespace}
	if !slices.ContainsFunc(c.disks, func(o disk) bool { return o.id == d.id && o.cluster == d.cluster }) {
		c.disks = append(c.disks, d)
	}
}

func (c *Cloud) vm(id string) *vm {
	for _, v := range c.vms {
		if v.id == id {
			return v
		}
	}
	return nil
}

// stateOf is the actual state of v; a read may show an older one.
func (c *Cloud) stateOf(v *vm) provider.State { return c.stateAt(v, c.clock.Now()) }

func (c *Cloud) stateAt(v *vm, now time.Time) provider.State {
	switch {
	case !v.deleted.IsZero() && !now.Before(v.deleted.Add(c.Shutdown)):
		return provider.Terminated
	case !v.deleted.IsZero() && !now.Before(v.deleted):
		return provider.Stopping
	case v.fault == nil && now.Before(v.created.Add(c.Boot)):
		return provider.Pending
	case v.off, v.fault != nil:
		return provider.Stopped
	}
	return provider.Running
}

// page returns the instances whose tags and names match, one page from the
// given offset, as they were lag ago; next is 0 after the last page.
func (c *Cloud) page(match func(*vm) bool, offset int) (items []instanceView, next int) {
	then := c.clock.Now().Add(-c.lag)
	for k := offset; k < len(c.vms); k++ {
		v := c.vms[k]
		if v.created.After(then) || !match(v) {
			continue
		}
		if len(items) == c.Page {
			return items, k
		}
		items = append(items, c.view(v, then))
	}
	return items, 0
}

// instanceView is a copy of an instance that a caller may keep.
type instanceView struct {
	id, name   string
	size, zone string
	tags       map[string]string
	state      provider.State
	created    time.Time
	fault      *provider.Error
}

func (c *Cloud) view(v *vm, at time.Time) instanceView {
	return instanceView{
		id: v.id, name: v.name, size: v.spec.Size, zone: v.spec.Zone,
		tags: maps.Clone(v.tags), state: c.stateAt(v, at), created: v.created, fault: v.fault,
	}
}

// strayDisks returns the cluster's disks that no instance uses, in order.
func (c *Cloud) strayDisks(cluster string) (out []disk) {
	for _, d := range c.disks {
		if d.cluster == cluster && !c.inUse(cluster, d.uid) {
			out = append(out, d)
		}
	}
	return out
}

// inUse reports whether an instance uses the disks created for uid.
func (c *Cloud) inUse(cluster, uid string) bool {
	return slices.ContainsFunc(c.vms, func(v *vm) bool {
		owner := cmpOr(v.tags[uidTag], v.id)
		return v.tags[clusterTag] == cluster && owner == uid && c.stateOf(v) != provider.Terminated
	})
}

// terminate begins to remove the instance; an instance that is already under deletion does not change.
func (c *Cloud) terminate(id string) {
	if v := c.vm(id); v != nil && v.deleted.IsZero() {
		v.deleted = c.clock.Now()
	}
}

// deleteDisks removes the disks created for uid in the cluster and reports whether any is left because an
// instance still uses it.
func (c *Cloud) deleteDisks(cluster, uid string) (left bool) {
	mine := func(d disk) bool { return d.cluster == cluster && d.uid == uid }
	if c.inUse(cluster, uid) {
		return slices.ContainsFunc(c.disks, mine)
	}
	c.disks = slices.DeleteFunc(c.disks, mine)
	return false
}
