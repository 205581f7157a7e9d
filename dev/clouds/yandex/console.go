package yandex

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/yandex-cloud/go-genproto/yandex/cloud/compute/v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Guests implements [double.Host]. Provider IDs are those of the cloud controller manager.
func (c *Cloud) Guests() (all []double.Guest) {
	c.settle()
	for _, i := range c.instances.All() {
		if c.state(i) != compute.Instance_RUNNING {
			continue
		}
		r := i.Request.GetResourcesSpec()
		all = append(all, double.Guest{
			ID: i.ID, NodeName: i.hostName(), ProviderID: "yandex://" + i.ID, Addresses: []string{i.Address}, UserData: []byte(i.Request.GetMetadata()["user-data"]), Boots: i.Boots,
			VCPUs: r.GetCores(), MemoryMiB: r.GetMemory() >> 20, Region: i.region(), Zone: i.zone(),
		})
	}
	return all
}

// Instances implements [double.Inspected].
func (c *Cloud) Instances() (all []double.Listed) {
	c.settle()
	for _, i := range c.instances.All() {
		state := c.state(i)
		if state == deleted {
			continue
		}
		all = append(all, double.Listed{
			ID: i.ID, Name: i.name(), State: state.String(), Zone: i.zone(), Type: i.Request.GetPlatformId(), Account: i.Request.GetFolderId(), Tags: i.Labels,
			Dependants: []string{"disk " + i.Disk},
		})
	}
	return all
}

// Orphans implements [double.Inspected].
func (c *Cloud) Orphans() (all []string) {
	c.settle()
	for _, d := range c.disks.All() {
		if d.Instance == "" {
			all = append(all, "disk "+d.ID)
		}
	}
	return all
}

var _ double.Exhaustible = (*Cloud)(nil)

// Exhausted implements [double.Exhaustible].
func (c *Cloud) Exhausted() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return double.Places(c.exhausted, true)
}

// Verbs implements [double.Inspected].
func (c *Cloud) Verbs() []double.Verb {
	return []double.Verb{
		{Name: "interrupt", On: "a preemptible instance: it is stopped"},
		{Name: "terminate", On: "an instance"},
		{Name: "fail", On: "an instance that does not run yet: its creation fails, and it disappears"},
		{Name: "stop", On: "an instance"},
		{Name: "start", On: "an instance"},
		{Name: "exhaust", On: "a zone, or zone/platform"},
		{Name: "restock", On: "a zone, or zone/platform"},
		{Name: "unlabel", On: "instance=key: the instance loses the label with the key"},
		{Name: "lag", On: "a duration: reads of instances lag by it"},
	}
}

// Do implements [double.Inspected].
func (c *Cloud) Do(verb, on string) error {
	switch verb {
	case "exhaust", "restock":
		c.mu.Lock()
		defer c.mu.Unlock()
		c.exhausted[on] = verb == "exhaust"
		return nil
	case "lag":
		lag, err := time.ParseDuration(on)
		c.SetLag(lag)
		return err
	case "unlabel":
		return c.unlabel(on)
	}
	i, ok := c.instances.Get(on)
	if !ok || c.state(i) == deleted {
		return fmt.Errorf("there is no instance %q", on)
	}
	return c.trouble(verb, i)
}

func (c *Cloud) trouble(verb string, i instance) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch verb {
	case "interrupt":
		if !i.preemptible() {
			return fmt.Errorf("instance %s is not preemptible", i.ID)
		}
		c.wish(i.ID, wishStop)
	case "terminate":
		c.wish(i.ID, wishDelete)
	case "fail":
		o := c.operations[i.Creation]
		if o == nil || o.done(c.clock.Now()) {
			return fmt.Errorf("instance %s is not being created", i.ID)
		}
		o.failure = status.Convert(noCapacity())
		c.disks.Update(i.Disk, func(d disk) disk { d.Stays = false; return d })
		c.vanish(i.ID)
	case "stop", "start":
		c.wish(i.ID, map[string]string{"stop": wishStop, "start": wishRun}[verb])
	default:
		return fmt.Errorf("there is no verb %q", verb)
	}
	return nil
}

// vanish deletes an instance at once. The caller holds the lock.
func (s *store) vanish(id string) {
	s.update(id, func(i *instance) { i.Wish, i.Since = wishDelete, s.clock.Now().Add(-s.options.Delete) })
}

func (c *Cloud) unlabel(on string) error {
	id, key, _ := strings.Cut(on, "=")
	c.mu.Lock()
	defer c.mu.Unlock()
	i, ok := c.instances.Get(id)
	if _, has := i.Labels[key]; !ok || !has {
		return fmt.Errorf("there is no instance %q with a label %q: say instance=key", id, key)
	}
	c.update(id, func(i *instance) {
		i.Labels = maps.Clone(i.Labels)
		delete(i.Labels, key)
	})
	return nil
}

// Plant creates a running instance from a request, without its operation.
func (c *Cloud) Plant(request *compute.CreateInstanceRequest) (id string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := launcher{c.store}
	if err := l.checkName(call{}, request); err != nil {
		return "", err
	}
	i, err := l.launch(proto.CloneOf(request))
	if err != nil {
		return "", err
	}
	c.update(i.ID, func(i *instance) { i.Since = i.Since.Add(-c.options.Boot) })
	return i.ID, nil
}

// Vanish deletes an instance at once.
func (c *Cloud) Vanish(id string) bool {
	c.mu.Lock()
	_, ok := c.instances.Get(id)
	c.vanish(id)
	c.mu.Unlock()
	c.settle()
	return ok
}
