package yandex

import (
	"fmt"

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
	dependants := c.dependants()
	for _, i := range c.instances.All() {
		state := c.state(i)
		if state == deleted {
			continue
		}
		all = append(all, double.Listed{
			ID: i.ID, Name: i.name(), State: state.String(), Zone: i.zone(), Type: i.Request.GetPlatformId(), Account: i.Request.GetFolderId(), Tags: i.Labels,
			Dependants: dependants[i.ID],
		})
	}
	return all
}

// Orphans implements [double.Inspected].
func (c *Cloud) Orphans() []string {
	c.settle()
	return c.dependants()[""]
}

// dependants are the disks by instance.
func (s *store) dependants() map[string][]string {
	all := map[string][]string{}
	for _, d := range s.disks.All() {
		all[d.Instance] = append(all[d.Instance], "disk "+d.ID)
	}
	return all
}

func (s *store) controls() double.Controls {
	onInstance := double.OnInstance(&s.mu, s.existing)
	return append(s.ExhaustVerbs("a zone, or zone/platform"), s.LagVerb(),
		double.UntagVerb("unlabel", s.instances, func(i *instance) *map[string]string { return &i.Labels }),
		double.Verb{Name: "interrupt", On: "a preemptible instance: it is stopped", Do: onInstance(s.interrupt)},
		double.Verb{Name: "fail", On: "an instance that does not run yet: its creation fails, and it disappears", Do: onInstance(s.failCreation)},
		double.Verb{Name: "terminate", On: "an instance", Do: onInstance(s.wishes(wishDelete))},
		double.Verb{Name: "stop", On: "an instance", Do: onInstance(s.wishes(wishStop))},
		double.Verb{Name: "start", On: "an instance", Do: onInstance(s.wishes(wishRun))},
	)
}

func (s *store) wishes(wish string) func(instance) error {
	return func(i instance) error {
		s.wish(i.ID, wish)
		return nil
	}
}

func (s *store) interrupt(i instance) error {
	if !i.preemptible() {
		return fmt.Errorf("instance %s is not preemptible", i.ID)
	}
	s.wish(i.ID, wishStop)
	return nil
}

func (s *store) failCreation(i instance) error {
	o := s.operations[i.Creation]
	if o == nil || o.done(s.clock.Now()) {
		return fmt.Errorf("instance %s is not being created", i.ID)
	}
	o.failure = status.Convert(noCapacity())
	s.disks.Change(i.Disk, func(d *disk) { d.Stays = false })
	s.vanish(i.ID)
	return nil
}

// vanish deletes an instance at once. The caller holds the lock.
func (s *store) vanish(id string) {
	s.instances.Change(id, func(i *instance) { i.Wish, i.Since = wishDelete, s.clock.Now().Add(-s.options.Delete) })
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
	c.instances.Change(i.ID, func(i *instance) { i.Since = i.Since.Add(-c.options.Boot) })
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
