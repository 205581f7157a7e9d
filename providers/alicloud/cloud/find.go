package cloud

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"

	ecs "github.com/alibabacloud-go/ecs-20140526/v7/client"
	"github.com/alibabacloud-go/tea/dara"

	"github.com/millwright-dev/millwright/provider"
)

// vm is an instance as ECS describes it.
type vm = ecs.DescribeInstancesResponseBodyInstancesInstance

// errNoList is the error of an answer without its list: it never means that nothing exists.
var errNoList = provider.Errorf(provider.Transient, "the answer has no list: is the endpoint correct, or does a proxy answer?")

// Find implements [provider.Session]. If an instance of the machine has its name, that is one call.
func (s *session) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	c, err := s.on(ctx, regionIn(ref.ProviderID))
	if err != nil {
		return nil, s.observe("open the account", err)
	}
	found, err := finder{s}.find(ctx, c, ref)
	if err != nil {
		return nil, err
	}
	var out []provider.Instance
	for _, i := range found {
		out = append(out, finder{s}.toInstance(c, i))
	}
	return out, nil
}

// find searches by name first, which also shows instances of another implementation; and by UID and ID only
// if the instance with it has not been found. If a machine had no instance moments ago, another search by
// name could find only one of another implementation: it is left out, and the search by UID is repeated.
func (s finder) find(ctx context.Context, c *client, ref provider.Ref) ([]*vm, error) {
	id := idOf(ref.ProviderID)
	found := map[string]*vm{}
	add := func(request *ecs.DescribeInstancesRequest) error {
		for i, err := range s.each(ctx, c, request) {
			if err != nil {
				return err
			}
			found[deref(i.InstanceId)] = i
		}
		return nil
	}
	key := s.absenceOf(ref)
	_, absent := c.observed.absent.Recall(key)
	if ref.Name != "" && !absent {
		if err := add(withName(ref.Name)); err != nil {
			return nil, err
		}
	}
	if ref.UID != "" && !hasUID(found, ref.UID) {
		if err := add(withTags(map[string]string{uidTag: ref.UID})); err != nil {
			return nil, err
		}
	}
	if _, seen := found[id]; id != "" && !seen {
		if err := add(withIDs(id)); err != nil {
			return nil, err
		}
	}
	if _, tried := c.observed.tried.Recall(key); len(found) == 0 && id == "" && !tried && !absent {
		c.observed.absent.Put(key, struct{}{})
	}
	return s.matching(found, ref), nil
}

func hasUID(found map[string]*vm, uid string) bool {
	for _, i := range found {
		if mapOf(i)[uidTag] == uid {
			return true
		}
	}
	return false
}

// withName describes the instances that may have the name of a machine.
func withName(machine string) *ecs.DescribeInstancesRequest {
	if name := instanceName(machine); name != nil {
		return &ecs.DescribeInstancesRequest{InstanceName: name}
	}
	return withTags(map[string]string{machineTag: machine})
}

func withTags(tags map[string]string) *ecs.DescribeInstancesRequest {
	return &ecs.DescribeInstancesRequest{Tag: filterTags(tags)}
}

func withIDs(ids ...string) *ecs.DescribeInstancesRequest {
	list, _ := json.Marshal(ids) // a list of texts cannot fail
	return &ecs.DescribeInstancesRequest{InstanceIds: dara.String(string(list))}
}

// absenceOf is the key under which the absence of a machine's instance is stored.
func (s finder) absenceOf(ref provider.Ref) string {
	return s.class.Cluster + " " + ref.UID + " " + ref.Name
}

// absent reports whether a machine had no instance moments ago, and none was created since. ECS may take
// twice as long as that to show a new instance: another search could find no more. It is valid for one
// creation.
func (s finder) absent(c *client, ref provider.Ref) bool {
	key := s.absenceOf(ref)
	defer c.observed.absent.Forget(key)
	_, absent := c.observed.absent.Recall(key)
	return absent && idOf(ref.ProviderID) == ""
}

// matching are the instances that may be ref's, in the order of their IDs.
func (s finder) matching(found map[string]*vm, ref provider.Ref) (out []*vm) {
	id := idOf(ref.ProviderID)
	for _, key := range slices.Sorted(maps.Keys(found)) {
		i := found[key]
		tags := mapOf(i)
		uid, named := tags[uidTag], s.named(i, tags, ref.Name)
		own := uid == ref.UID && uid != ""
		scoped := ownership(s).inScope(tags) || ownership(s).unscoped() && (own || named)
		if !scoped {
			continue
		}
		if own || key == id || uid == "" && named {
			out = append(out, i)
		}
	}
	return out
}

// mostOnPage is the most that ECS puts on a page.
const mostOnPage = 100

// each yields the instances of the region that a request describes, page by page.
func (s finder) each(ctx context.Context, c *client, request *ecs.DescribeInstancesRequest) iter.Seq2[*vm, error] {
	return func(yield func(*vm, error) bool) {
		in := *request
		in.RegionId, in.MaxResults = &c.region, dara.Int32(mostOnPage)
		for {
			out, err := call(ctx, c, (*ecs.Client).DescribeInstancesWithContext, &in)
			if err == nil && (out.Body == nil || out.Body.Instances == nil) {
				err = errNoList
			}
			if err != nil {
				yield(nil, s.observe("look for instances", err))
				return
			}
			for _, i := range out.Body.Instances.Instance {
				if i != nil && !yield(i, nil) {
					return
				}
			}
			next := deref(out.Body.NextToken)
			if next == "" {
				return
			}
			if next == deref(in.NextToken) { // else the listing would look complete, or never end
				yield(nil, provider.Errorf(provider.Transient, "look for instances: ECS names the same page twice"))
				return
			}
			in.NextToken = &next
		}
	}
}

// mostTagged is the number of instances after which ECS ends a listing by tags without an error.
const mostTagged = 1000

// scope yields the instances with the class's tags of the owner. If ECS may have cut that listing short, it
// goes on with all instances of the region, and selects those with the tags itself.
func (s finder) scope(ctx context.Context, c *client) iter.Seq2[*vm, error] {
	return func(yield func(*vm, error) bool) {
		tags, seen := ownership(s).ownershipTags(), map[string]bool{}
		for i, err := range s.each(ctx, c, withTags(tags)) {
			if !yield(i, err) || err != nil {
				return
			}
			seen[deref(i.InstanceId)] = true
		}
		if len(seen) < mostTagged {
			return
		}
		for i, err := range s.each(ctx, c, &ecs.DescribeInstancesRequest{}) {
			if err == nil && (seen[deref(i.InstanceId)] || !contains(mapOf(i), tags)) {
				continue
			}
			if !yield(i, err) || err != nil {
				return
			}
		}
	}
}

func contains(all, some map[string]string) bool {
	for key, value := range some {
		if has, there := all[key]; !there || has != value {
			return false
		}
	}
	return true
}

// List implements [provider.Session].
func (s *session) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return func(yield func(provider.Instance, error) bool) {
		c, err := s.on(ctx)
		if err != nil {
			yield(provider.Instance{}, s.observe("open the account", err))
			return
		}
		for i, err := range (finder{s}).scope(ctx, c) {
			if err != nil {
				yield(provider.Instance{}, err)
				return
			}
			if !yield(finder{s}.toInstance(c, i), nil) {
				return
			}
		}
	}
}

// machineOf is the name of the machine that an instance carries. A tag Name of machine.sapcloud.io is a user's.
func (s finder) machineOf(i *vm, tags map[string]string) string {
	name := deref(i.InstanceName)
	if name == deref(i.InstanceId) { // the default of ECS
		name = ""
	}
	if s.class.API == provider.OpenShift {
		return cmp.Or(tags[machineTag], tags[nameTag], name)
	}
	return cmp.Or(tags[machineTag], name, tags[nameTag])
}

// named reports whether an instance may have the name of a machine, as one of the implementations writes it.
func (s finder) named(i *vm, tags map[string]string, machine string) bool {
	return machine != "" && slices.Contains([]string{s.machineOf(i, tags), deref(i.InstanceName)}, machine)
}
