package cloud

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/provider"
)

// refOf is a machine of which only the UID is known.
func refOf(uid string) provider.Ref { return provider.Ref{UID: uid} }

// finder finds virtual machines and converts them.
type finder struct{ *session }

// uuids are the possible instance UUIDs of a machine.
func (s *session) uuids(r provider.Ref) []string {
	return instanceUUIDs(s.class.API, s.class.Cluster, r)
}

// Find implements [provider.Session]. The vCenter has an index of UUIDs; to find a name it lists all names.
// An instance of another implementation counts only if it is the cluster's.
func (s *session) Find(ctx context.Context, r provider.Ref) (all []provider.Instance, err error) {
	err = s.with(ctx, func(c *conn) error {
		if all, err = (finder{s}).find(ctx, c, r); err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(i provider.Instance) bool { return i.UID == r.UID }) {
			cloning, err := finder{s}.cloning(ctx, c, r)
			if err != nil {
				return err
			}
			all = append(all, cloning...)
		}
		return nil
	})
	return all, err
}

// find is Find among the existing virtual machines.
func (s finder) find(ctx context.Context, c *conn, r provider.Ref) ([]provider.Instance, error) {
	found, err := s.candidates(ctx, c, r)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(v *vm) bool { return !s.may(v, r) })
	return s.toInstances(ctx, c, found, &r, tagger(s).tagsOf)
}

// candidates are virtual machines that have the UUID of a machine, or its name.
func (s finder) candidates(ctx context.Context, c *conn, r provider.Ref) ([]*vm, error) {
	in, err := inventory(s).searchScope(ctx, c)
	if err != nil {
		return nil, err
	}
	seen := map[ref]bool{}
	look := func(uuid string, instance bool) error {
		if uuid == "" {
			return nil
		}
		refs, err := c.byUUID(ctx, in.datacenter, uuid, instance)
		for _, found := range refs {
			seen[found] = true
		}
		return err
	}
	if r.UID != "" { // every clone is requested with the first UUID
		if err := look(s.uuids(r)[0], true); err != nil {
			return nil, err
		}
	}
	if err := look(biosUUID(r.ProviderID), false); err != nil {
		return nil, err
	}
	if r.Name != "" {
		refs, err := c.byName(ctx, in.folder, r.Name, s.provider.config.PageSize)
		if err != nil {
			return nil, err
		}
		for _, found := range refs {
			seen[found] = true
		}
	}
	refs := slices.SortedFunc(maps.Keys(seen), func(a, b ref) int { return strings.Compare(a.Value, b.Value) })
	all, err := c.read(ctx, refs)
	if err != nil {
		return nil, err
	}
	return all, s.legible(ctx, c, r, all)
}

// legible is a Conflict if the configuration of one of the virtual machines cannot be read, as on an
// unreachable datastore: its owner is unknown then, and it must not count as deleted. During the machine's
// own clone this is normal.
func (s finder) legible(ctx context.Context, c *conn, r provider.Ref, all []*vm) error {
	for _, v := range all {
		if v.legible() == nil {
			continue
		}
		if t, ok := s.provider.tasks.get(s.uuids(r)[0]); ok && t.what == taskClone {
			if info, known, err := c.state(ctx, t.ref); err != nil || known && running(info) {
				return err
			}
		}
		return v.legible()
	}
	return nil
}

// may reports whether a virtual machine may be that of a machine, if it is the cluster's.
func (s finder) may(v *vm, r provider.Ref) bool {
	uid := v.extra[keyUID]
	switch {
	case r.UID != "" && uid == r.UID:
		return true
	case r.ProviderID != "" && v.uuid != "" && v.uuid == biosUUID(r.ProviderID):
		return true
	}
	return uid == "" && (r.Name != "" && v.name == r.Name || bears(s.session, v, r))
}

// bears reports whether a virtual machine has the instance UUID that this provider, or OpenShift's own,
// requests for a machine. The UUID is unique in a vCenter, and copies get another one: it proves the owner,
// also without the options that record it.
func bears(s *session, v *vm, r provider.Ref) bool {
	return r.UID != "" && v.instanceUUID == s.uuids(r)[0]
}

// isOf reports whether a virtual machine is the machine's: its options or its UUID prove it, and nothing
// contradicts.
func (s finder) isOf(v *vm, r provider.Ref) bool {
	uid, cluster := v.extra[keyUID], v.extra[keyCluster]
	if uid != "" && uid != r.UID || cluster != "" && cluster != s.class.Cluster {
		return false
	}
	return uid != "" && cluster != "" || bears(s.session, v, r)
}

// List implements [provider.Session]: it reads all virtual machines of the datacenter, and reports those of
// the cluster.
func (s *session) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return func(yield func(provider.Instance, error) bool) {
		stopped := false
		err := s.with(ctx, func(c *conn) error {
			if stopped { // the session ended half way: nothing is reported twice
				return nil
			}
			return finder{s}.pages(ctx, c, func(i provider.Instance) bool {
				stopped = !yield(i, nil)
				return !stopped
			})
		})
		if err != nil && !stopped {
			yield(provider.Instance{}, err)
		}
	}
}

// pages yields the cluster's instances. It yields nothing before the session is known to be valid:
// afterwards, the end of a session is an error.
func (s finder) pages(ctx context.Context, c *conn, yield func(provider.Instance) bool) error {
	in, err := inventory(s).searchScope(ctx, c)
	if err != nil {
		return err
	}
	tagged := tagger(s).tagged(ctx, c)
	var page []*vm
	began := false
	flush := func() (bool, error) {
		list, err := s.toInstances(ctx, c, page, nil, tagged)
		if err != nil {
			return false, midway(began, err)
		}
		page = page[:0]
		for _, i := range list {
			began = true
			if !yield(i) {
				return false, nil
			}
		}
		return true, nil
	}
	for o, err := range c.collect(ctx, below(in.folder, properties), s.provider.config.PageSize) {
		if err != nil {
			return midway(began, err)
		}
		page = append(page, newVM(o))
		if len(page) < int(s.provider.config.PageSize) {
			continue
		}
		if more, err := flush(); !more {
			return err
		}
	}
	_, err = flush()
	return err
}

// midway is an error of a listing that has begun: it must not be begun again.
func midway(began bool, err error) error {
	if began && notAuthenticated(err) {
		return provider.Errorf(provider.Transient, "the session ended in the middle of a listing: %v", err)
	}
	return err
}
