package cloud

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/aws/spec"
)

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
		c.observed.note(i)
		told, err := finder{s}.toInstance(ctx, c, i)
		if err != nil {
			return nil, err
		}
		out = append(out, told)
	}
	return out, nil
}

// note records an instance under deletion: its deletion continues without a search.
func (s *observations) note(i types.Instance) {
	if stateOf(i) == types.InstanceStateNameShuttingDown {
		s.leaving.Put(deref(i.InstanceId), struct{}{})
	}
}

// regionIn is the region in a provider ID that has one: that of either API begins with it.
func regionIn(providerID string) string {
	m := regionInID.FindStringSubmatch(providerID)
	if m == nil {
		return ""
	}
	return m[1]
}

// find searches by name first, which also shows instances of another implementation; and by UID and ID only
// for what that has not shown.
func (s finder) find(ctx context.Context, c *client, ref provider.Ref) ([]types.Instance, error) {
	id := idOf(ref.ProviderID)
	found := map[string]types.Instance{}
	seen := func(match func(types.Instance) bool) bool {
		for _, i := range found {
			if match(i) {
				return true
			}
		}
		return false
	}
	hasUID := func(i types.Instance) bool { return mapOf(i.Tags)[uidTag] == ref.UID }
	hasID := func(i types.Instance) bool { return deref(i.InstanceId) == id }
	for _, look := range []struct {
		needed       bool
		match        func(types.Instance) bool
		filter, text string
	}{
		{ref.Name != "", nil, "tag:" + nameTag, literal(ref.Name)},
		{ref.UID != "", hasUID, "tag:" + uidTag, ref.UID},
		{id != "", hasID, "instance-id", id},
	} {
		if !look.needed || look.match != nil && seen(look.match) {
			continue
		}
		all, err := s.by(ctx, c, look.filter, look.text, s.scopeOf(look.match != nil))
		if err != nil {
			return nil, err
		}
		for _, i := range all {
			found[deref(i.InstanceId)] = i
		}
	}
	key := s.absenceOf(ref)
	if _, tried := c.observed.tried.Recall(key); len(found) == 0 && id == "" && !tried {
		c.observed.absent.Put(key, struct{}{})
	}
	return s.matching(found, ref), nil
}

// absenceOf is the key under which the absence of a machine's instance is stored.
func (s finder) absenceOf(ref provider.Ref) string {
	return keyOf(s.scopeOf(true)) + " " + ref.UID + " " + ref.Name
}

// absent reports whether a machine had no instance moments ago, and none was created since. EC2 may take
// twice as long as that to show a new instance: another search could find no more. It is valid for one
// creation.
func (s finder) absent(c *client, ref provider.Ref) bool {
	key := s.absenceOf(ref)
	defer c.observed.absent.Forget(key)
	_, absent := c.observed.absent.Recall(key)
	return absent && idOf(ref.ProviderID) == ""
}

// scopeOf are the filters of a search. Tags of a class of machine.sapcloud.io may have changed since an
// instance was created: UID and ID are searched in the cluster, by the spec's name for it or by its own,
// whatever the role. A class that has lost its spec does not know the tag of the cluster: then the search
// covers everything, since an empty result would be wrong.
func (s finder) scopeOf(exact bool) []types.Filter {
	if !exact || s.class.API == provider.OpenShift {
		return ownership(s).scope()
	}
	if s.plan == nil {
		return nil
	}
	keys := slices.DeleteFunc(slices.Clone(s.plan.keys), func(key string) bool { return !strings.Contains(key, spec.ClusterTagPrefix) })
	if own := ownership(s).clusterKey(); !slices.Contains(keys, own) {
		keys = append(keys, own)
	}
	return []types.Filter{where("tag-key", keys...)}
}

// by returns instances that pass the scope's filters, among them all with the given value of another
// filter: concurrent searches share a request.
func (s finder) by(ctx context.Context, c *client, filter, value string, scope []types.Filter) ([]types.Instance, error) {
	return c.descriptions.ask(ctx, filter+" "+keyOf(scope), value, func(ctx context.Context, values []string) (all []types.Instance, err error) {
		for i, err := range s.each(ctx, c, append(slices.Clone(scope), where(filter, values...))) {
			if err != nil {
				return nil, err
			}
			all = append(all, i)
		}
		return all, nil
	})
}

// matching are those that may be ref's, in the order of their IDs.
func (s finder) matching(found map[string]types.Instance, ref provider.Ref) (out []types.Instance) {
	id := idOf(ref.ProviderID)
	unscoped := s.scopeOf(true) == nil
	for _, i := range found {
		uid, name := mapOf(i.Tags)[uidTag], mapOf(i.Tags)[nameTag]
		ended := stateOf(i) == types.InstanceStateNameTerminated
		switch {
		case uid == ref.UID && uid != "", deref(i.InstanceId) == id && id != "" && (!unscoped || name == ref.Name):
			out = append(out, i)
		case uid == "" && name == ref.Name && name != "" && !ended: // an ended instance found only by name belongs to no machine
			out = append(out, i)
		}
	}
	slices.SortFunc(out, func(a, b types.Instance) int { return compare(deref(a.InstanceId), deref(b.InstanceId)) })
	return out
}

// each yields the instances that pass filters, page by page.
func (s finder) each(ctx context.Context, c *client, by []types.Filter) iter.Seq2[types.Instance, error] {
	return func(yield func(types.Instance, error) bool) {
		pages := ec2.NewDescribeInstancesPaginator(c.ec2, &ec2.DescribeInstancesInput{Filters: by, MaxResults: aws.Int32(mostOnPage)},
			func(o *ec2.DescribeInstancesPaginatorOptions) { o.StopOnDuplicateToken = true })
		for pages.HasMorePages() {
			out, err := pages.NextPage(ctx)
			if err != nil {
				yield(types.Instance{}, s.observe("look for instances", err))
				return
			}
			for _, r := range out.Reservations {
				for _, i := range r.Instances {
					if !yield(i, nil) {
						return
					}
				}
			}
		}
	}
}

// mostOnPage is the most that EC2 puts on a page.
const mostOnPage = 1000

// List implements [provider.Session].
func (s *session) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return func(yield func(provider.Instance, error) bool) {
		c, err := s.on(ctx)
		if err != nil {
			yield(provider.Instance{}, s.observe("open the account", err))
			return
		}
		for i, err := range (finder{s}).each(ctx, c, (ownership{s}).scope()) {
			if err != nil {
				yield(provider.Instance{}, err)
				return
			}
			c.observed.note(i)
			told, err := finder{s}.toInstance(ctx, c, i)
			if err != nil {
				yield(provider.Instance{}, err)
				return
			}
			if !yield(told, nil) {
				return
			}
		}
	}
}
