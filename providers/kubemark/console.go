package kubemark

import (
	"context"
	"fmt"
	"time"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark/internal/cloud"
)

// Console is the infrastructure as its owner sees it, around the provider: for
// tests, for the simulator and for whoever wants to know what is there. It
// serves no machine and obeys no limit of a spec.
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
		out = append(out, instance(i))
	}
	return out, nil
}

// Dependants counts the disks and network interfaces of the cluster: two for
// each instance, and those that were left behind.
func (c Console) Dependants(cluster string) (int, error) {
	all, err := c.provider.store.Dependants(cluster)
	return len(all), err
}

// Remove makes an instance go, as if somebody had deleted it.
func (c Console) Remove(ctx context.Context, cluster string, i provider.Instance) error {
	_, _, err := c.provider.cloud.Change(ctx, cluster, given(i), func(r *cloud.Record, now time.Time) { r.Deleted = now })
	return err
}

// GiveUp lets the infrastructure give up an instance that it accepted, when it would
// run. It is an error where that is over.
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

// Hasten ends all latencies of an instance: it runs, boots and joins at once, or ends at once if it is being deleted. A provider
// that runs notices that when it next looks at the instance.
func (c Console) Hasten(ctx context.Context, cluster string, i provider.Instance) error {
	_, _, err := c.provider.cloud.Change(ctx, cluster, given(i), func(r *cloud.Record, _ time.Time) { r.Traits.Latencies = cloud.Latencies{} })
	return err
}

// PowerOff stops an instance, as if it had crashed.
func (c Console) PowerOff(ctx context.Context, cluster string, i provider.Instance) error {
	_, _, err := c.provider.cloud.Change(ctx, cluster, given(i), c.provider.cloud.SetPower(cloud.PowerOff))
	return err
}

// Tell lets the infrastructure announce something about an instance. Told to
// terminate it, the infrastructure takes it back once that time has come.
func (c Console) Tell(ctx context.Context, cluster string, i provider.Instance, a Announcement, at time.Time) error {
	return c.tell(ctx, cluster, i, func(t *cloud.Told) { *a.in(t) = at })
}

// Withdraw lets the infrastructure take back all that it was told to announce.
func (c Console) Withdraw(ctx context.Context, cluster string, i provider.Instance) error {
	return c.tell(ctx, cluster, i, func(t *cloud.Told) { *t = cloud.Told{} })
}

func (c Console) tell(ctx context.Context, cluster string, i provider.Instance, change func(*cloud.Told)) error {
	_, ok, err := c.provider.cloud.Change(ctx, cluster, given(i), func(r *cloud.Record, _ time.Time) { change(&r.Told) })
	if err == nil && !ok {
		err = gone(i)
	}
	return err
}

// Plant makes an instance of the class's owner with the UID, the namespace and
// the name of i: a second one if there is one already, or, with an empty UID, one as another implementation makes
// it. With a UID, or if the name is taken, its node name gets a number.
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
		r.Tags = s.birth(provider.Ref{UID: i.UID, Namespace: i.Namespace}, provider.Want{})
	}
	sight, err := c.provider.cloud.Plant(ctx, r)
	if err != nil {
		return provider.Instance{}, fmt.Errorf("plant an instance of %s: %w", i.Name, err)
	}
	return instance(sight), nil
}

// Leave makes what a create leaves behind that failed half way.
func (c Console) Leave(class provider.Class, ref provider.Ref) error {
	return c.provider.cloud.Leave(cloud.Record{
		ID: cloud.InstanceID(ref.Token(class.Cluster)), Cluster: class.Cluster, UID: ref.UID, Node: ref.Name,
		Owner: class.Owner, Namespace: ref.Namespace,
	})
}

// SetPassword denies everything to classes whose credentials do not have the
// password under "password"; an empty one accepts all.
func (c Console) SetPassword(password string) error { return c.provider.store.SetPassword(password) }
