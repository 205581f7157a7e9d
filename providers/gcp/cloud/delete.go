package cloud

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"google.golang.org/api/compute/v1"

	"github.com/millwright-dev/millwright/provider"
)

// deleter removes instances, and their dependants.
type deleter struct{ *call }

// Delete implements [provider.Session].
func (s *session) Delete(ctx context.Context, ref provider.Ref, given []provider.Instance) (bool, error) {
	c, err := s.forProject(ref)
	if err != nil {
		return false, err
	}
	d := deleter{c}
	doomed, err := d.toDelete(ctx, ref, given)
	if err != nil {
		if noProject(err) && ref.ProviderID == "" && len(given) == 0 {
			return true, nil // nothing was created without a project
		}
		return false, err
	}
	left := false
	for _, i := range doomed {
		gone, removing := d.deleteInstance(ctx, i)
		left = left || !gone
		err = errors.Join(err, removing)
	}
	if left || err != nil || ref.UID == "" {
		return !left, first(err)
	}
	return d.deleteDependants(ctx, ref)
}

// first is the error of the first instance that could not be removed: the others are tried again with it.
func first(err error) error {
	if all, ok := err.(interface{ Unwrap() []error }); ok && len(all.Unwrap()) > 0 {
		return first(all.Unwrap()[0])
	}
	return err
}

// toDelete are the given instances that exist, and those with ref's UID.
func (d deleter) toDelete(ctx context.Context, ref provider.Ref, given []provider.Instance) (all []*compute.Instance, err error) {
	ids, names := map[string]bool{}, []string{}
	for _, g := range given {
		ids[g.ID] = true
		if a, ok := parseProviderID(g.ProviderID); ok {
			names = append(names, a.name)
		}
	}
	filter := d.filterOf(provider.Ref{UID: ref.UID}, names...)
	if filter == "" {
		return nil, nil
	}
	for i, err := range d.instances(ctx, filter) {
		if err != nil {
			return nil, err
		}
		if ids[formatID(i.Id)] || ref.UID != "" && i.Labels[uidLabel] == ref.UID && d.ours(i) {
			all = append(all, i)
		}
	}
	return all, nil
}

// deleteInstance begins to delete an instance, unless that has begun. It reports whether the instance is deleted.
func (d deleter) deleteInstance(ctx context.Context, i *compute.Instance) (bool, error) {
	if states[i.Status] == provider.Stopping {
		if leaving, err := d.leaving(ctx, i); leaving || err != nil {
			return false, err
		}
	}
	if err := d.loadBalancers().deregister(ctx, d.toInstance(i)); err != nil {
		return false, err
	}
	_, err := d.client.compute.Instances.Delete(d.project, tail(i.Zone), i.Name).Context(ctx).Do()
	if gone(err) {
		return true, nil
	}
	return false, d.observe(ctx, err, "delete instance %s", i.Name)
}

// deleteDependants reports whether nothing remains that was created for ref, and removes the rest: an instance
// in creation, disks, the names that load balancers keep.
func (d deleter) deleteDependants(ctx context.Context, ref provider.Ref) (bool, error) {
	op, err := d.lastInsert(ctx, ref)
	if err != nil || op != nil && op.Status != done {
		return false, err
	}
	if err := d.loadBalancers().forget(ctx, ref); err != nil {
		return false, err
	}
	left, err := d.deleteDisks(ctx, ref)
	return !left && err == nil, err
}

// disks yields those that match the filter, of every zone.
func (c *call) disks(ctx context.Context, filter string) iter.Seq2[*compute.Disk, error] {
	return func(yield func(*compute.Disk, error) bool) {
		call := c.client.compute.Disks.AggregatedList(c.project).Filter(filter).MaxResults(pageSize).Context(ctx)
		for more := true; more; {
			page, err := call.Do()
			if err == nil {
				err = completeDisks(page)
			}
			if err != nil {
				yield(nil, c.observe(ctx, err, "list disks of project %s", c.project))
				return
			}
			for _, scope := range slices.Sorted(maps.Keys(page.Items)) {
				for _, d := range page.Items[scope].Disks {
					if !yield(d, nil) {
						return
					}
				}
			}
			call, more = call.PageToken(page.NextPageToken), page.NextPageToken != ""
		}
	}
}

// deleteDisks removes the disks of ref that no instance uses, and reports whether there were any.
func (c *call) deleteDisks(ctx context.Context, ref provider.Ref) (left bool, err error) {
	filter := fmt.Sprintf("(labels.%s = %q) AND (labels.%s:*)", uidLabel, ref.UID, c.clusterLabel())
	for d, err := range c.disks(ctx, filter) {
		if err != nil {
			return true, err
		}
		if len(d.Users) > 0 {
			continue
		}
		left = true
		_, err := c.client.compute.Disks.Delete(c.project, tail(d.Zone), d.Name).Context(ctx).Do()
		if err != nil && !gone(err) {
			return true, c.observe(ctx, err, "delete disk %s", d.Name)
		}
	}
	return left, nil
}

// Leftovers implements [provider.LeftoverLister].
func (s *session) Leftovers(ctx context.Context) iter.Seq2[provider.Leftover, error] {
	filter := fmt.Sprintf("(labels.%s:*) AND (labels.%s:*)", s.clusterLabel(), uidLabel)
	return func(yield func(provider.Leftover, error) bool) {
		for d, err := range s.disks(ctx, filter) {
			if err != nil {
				yield(provider.Leftover{}, err)
				return
			}
			if len(d.Users) > 0 {
				continue
			}
			l := provider.Leftover{
				Kind: "disk", ID: tail(d.Zone) + "/" + d.Name, UID: d.Labels[uidLabel],
				Owner: d.Labels[ownerLabel], Namespace: d.Labels[namespaceLabel],
			}
			if !yield(l, nil) {
				return
			}
		}
	}
}

func (d deleter) loadBalancers() loadBalancers { return loadBalancers(d) }
