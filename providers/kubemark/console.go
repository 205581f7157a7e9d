package kubemark

import (
	"context"
	"fmt"
	"time"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark/internal/cloud"
)

// Console gives tests, the simulator and users access to the infrastructure besides the provider. It serves
// no machine, and limits of a spec do not apply to it.
type Console struct{ provider *Provider }

// Console opens the console.
func (p *Provider) Console() Console { return Console{p} }

// Instances lists all instances of the cluster.
func (c Console) Instances(ctx context.Context, cluster string) ([]provider.Instance, error) {
	var out []provider.Instance
	for i, err := range c.provider.cloud.List(ctx, cluster, c.provider.config.PageSize) {
		if err != nil {
			return nil, err
		}
		out = append(out, toInstance(i))
	}
	return out, nil
}

// Dependants counts the disks and network interfaces of the cluster: two for each instance, and leftovers.
func (c Console) Dependants(cluster string) (int, error) {
	all, err := c.provider.store.Dependants(cluster)
	return len(all), err
}

// Remove deletes an instance, as another client would.
func (c Console) Remove(ctx context.Context, cluster string, i provider.Instance) error {
	_, _, err := c.provider.cloud.Change(ctx, cluster, given(i), func(r *cloud.Record, now time.Time) { r.Deleted = now })
	return err
}

// GiveUp makes an accepted instance fail at the time when it would start. It returns an error for a running
// instance.
func (c Console) GiveUp(ctx context.Context, cluster string, i provider.Instance, kind provider.Kind) error {
	now, ok, err := c.provider.cloud.Change(ctx, cluster, given(i), func(r *cloud.Record, _ time.Time) { r.Traits.Fault = string(kind) })
	switch {
	case err == nil && !ok:
		return gone(i)
	case err == nil && now.State == provider.Running:
		return fmt.Errorf("instance %s runs already", i.ID)
	}
	return err
}

// Hasten ends all latencies of an instance: it starts, boots and joins at once, or ends at once if it is
// being deleted. A running provider notices that at its next look at the instance.
func (c Console) Hasten(ctx context.Context, cluster string, i provider.Instance) error {
	_, _, err := c.provider.cloud.Change(ctx, cluster, given(i), func(r *cloud.Record, _ time.Time) { r.Traits.Latencies = cloud.Latencies{} })
	return err
}

// PowerOff stops an instance, as if it had crashed.
func (c Console) PowerOff(ctx context.Context, cluster string, i provider.Instance) error {
	_, _, err := c.provider.cloud.Change(ctx, cluster, given(i), c.provider.cloud.SetPower(cloud.PowerOff))
	return err
}

// Tell lets the infrastructure announce an event of an instance. An instance that is announced to be
// terminated is terminated at that time.
func (c Console) Tell(ctx context.Context, cluster string, i provider.Instance, a Announcement, at time.Time) error {
	return c.tell(ctx, cluster, i, func(t *cloud.Announced) { *a.in(t) = at })
}

// Withdraw withdraws all announcements.
func (c Console) Withdraw(ctx context.Context, cluster string, i provider.Instance) error {
	return c.tell(ctx, cluster, i, func(t *cloud.Announced) { *t = cloud.Announced{} })
}

func (c Console) tell(ctx context.Context, cluster string, i provider.Instance, change func(*cloud.Announced)) error {
	_, ok, err := c.provider.cloud.Change(ctx, cluster, given(i), func(r *cloud.Record, _ time.Time) { change(&r.Announced) })
	if err == nil && !ok {
		err = gone(i)
	}
	return err
}

// Plant creates an instance of the class's owner with the UID, the namespace and the name of i: a second
// instance if the machine has one or, with an empty UID, an instance of another implementation. With a UID,
// or if the name is taken, a number is appended to the node name.
func (c Console) Plant(ctx context.Context, class provider.Class, i provider.Instance) (provider.Instance, error) {
	spec, err := c.provider.decode(class)
	if err != nil {
		return provider.Instance{}, err
	}
	s := session{provider: c.provider, class: class, spec: spec}
	first, err := spec.choose("")
	if err != nil {
		return provider.Instance{}, err
	}
	r := cloud.Record{
		Cluster: class.Cluster, UID: i.UID, Name: i.Name, Node: i.Name,
		Traits: s.traits(first),
		Tags:   s.tags(provider.Ref{UID: i.UID}, provider.Want{}),
	}
	if i.UID != "" {
		r.Owner, r.Namespace = class.Owner, i.Namespace
		r.Tags = s.createTags(provider.Ref{UID: i.UID, Namespace: i.Namespace}, provider.Want{})
	}
	sight, err := c.provider.cloud.Plant(ctx, r)
	if err != nil {
		return provider.Instance{}, fmt.Errorf("plant an instance of %s: %w", i.Name, err)
	}
	return toInstance(sight), nil
}

// Leave creates the leftovers of an interrupted creation.
func (c Console) Leave(class provider.Class, ref provider.Ref) error {
	return c.provider.cloud.Leave(cloud.Record{
		ID: cloud.InstanceID(ref.Token(class.Cluster)), Cluster: class.Cluster, UID: ref.UID, Node: ref.Name,
		Owner: class.Owner, Namespace: ref.Namespace,
	})
}

// SetPassword denies all calls of classes whose credentials do not have the password in the key "password".
// An empty password accepts all calls.
func (c Console) SetPassword(password string) error { return c.provider.store.SetPassword(password) }
