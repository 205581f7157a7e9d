package cloud

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/tags"

	"github.com/millwright-dev/millwright/provider"
)

var _ provider.Maintainer = &session{}

const (
	// lookEvery is how long ports and trunks of a server are not looked at again, which servers do not show.
	lookEvery = time.Hour
	// refusedFor is how long nobody is asked again for what was refused for good.
	refusedFor = 30 * time.Minute
)

// Unkept implements [provider.Maintainer].
func (s *session) Unkept(ref provider.Ref, i provider.Instance) bool {
	v := view{s.scope, ref, i}
	if s.bare || !v.proven() {
		return false
	}
	return v.owed() != "" || s.provider.looks.due(i.ID, s.provider.config.Clock.Now())
}

// Maintain implements [provider.Maintainer]. What cannot be mended keeps nothing else from being. A refusal does not drop the client: a
// right that repairs alone need is no reason to log in again.
func (s *session) Maintain(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	if s.bare {
		return nil
	}
	now, owed := s.provider.config.Clock.Now(), view{s.scope, ref, i}.owed()
	if err := s.provider.looks.refusal(i.ID, owed, now); err != nil {
		return err
	}
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	v, err := get(ctx, c, i.ID)
	if err != nil {
		return fmt.Errorf("look at server %s of %s: %w", i.ID, ref.Name, err)
	}
	if v == nil || state(*v) != provider.Running || !(view{s.scope, ref, s.instance(c, *v)}).proven() {
		return nil
	}
	k := keeper{maker{errand{s, c}, ref}, *v}
	// Ports first: by them the original's are known as long as the server has no UID of ours.
	err = errors.Join(k.keepPorts(ctx), k.keepMetadata(ctx), k.keepTags(ctx))
	s.provider.looks.done(i.ID, look{at: now, owed: owed, err: err})
	return err
}

// view is an instance as one machine has it.
type view struct {
	scope
	ref provider.Ref
	i   provider.Instance
}

// proven reports whether an instance is ref's: it says so itself, by metadata or, if people took that away, by its tag. If it says
// nothing any more, it is the one that the machine has recorded, within the ownership scope.
func (v view) proven() bool {
	switch tag := v.i.Tags[strings.TrimSuffix(tagUID, "=")]; {
	case v.ref.UID == "":
		return false
	case v.i.UID != "":
		return v.i.UID == v.ref.UID
	case tag != "":
		return tag == v.ref.UID
	}
	return v.i.ID != "" && identify(v.ref.ProviderID) == strings.ToLower(v.i.ID)
}

// owed is what an instance shows that it lacks, as text; empty: nothing. A tag is not shown whose key metadata have too.
func (v view) owed() string {
	var owed []string
	for key, value := range v.serverMetadata(v.ref) {
		if is, there := v.i.Tags[key]; !there || is != value && !ours(key) {
			owed = append(owed, key+"="+value)
		}
	}
	for _, t := range v.serverTags(v.ref) {
		key, _, _ := strings.Cut(t, "=")
		if _, there := v.i.Tags[key]; !there {
			owed = append(owed, t)
		}
	}
	if f := v.plan.floating; f != "" && !hasAddress(v.i, f) {
		owed = append(owed, f)
	}
	slices.Sort(owed)
	return strings.Join(owed, " ")
}

func hasAddress(i provider.Instance, address string) bool {
	for _, a := range i.Addresses {
		if a.Address == address {
			return true
		}
	}
	return false
}

// keeper mends what belongs to one server that lives.
type keeper struct {
	maker
	server servers.Server
}

// keepMetadata writes the metadata that the server lacks: of the spec what it has otherwise too. Whose it says it is stays as it is said.
func (k keeper) keepMetadata(ctx context.Context) error {
	owed := k.serverMetadata(k.ref)
	maps.DeleteFunc(owed, func(key, value string) bool {
		is, there := k.server.Metadata[key]
		return there && (is == value || ours(key))
	})
	if len(owed) == 0 {
		return nil
	}
	if _, err := servers.UpdateMetadata(ctx, k.c.compute, k.server.ID, servers.MetadataOpts(owed)).Extract(); err != nil {
		return fmt.Errorf("write metadata of server %s of %s: %w", k.server.ID, k.ref.Name, k.plan.blame(err))
	}
	return nil
}

// keepTags adds the tags that the server lacks, one by one: so nothing is overwritten that others write at the same time.
func (k keeper) keepTags(ctx context.Context) error {
	for _, t := range lacking(k.serverTags(k.ref), tagsOf(k.server)) {
		if err := tags.Add(ctx, k.c.compute, k.server.ID, url.PathEscape(t)).ExtractErr(); err != nil {
			return fmt.Errorf("tag server %s of %s with %q: %w", k.server.ID, k.ref.Name, t, k.plan.blame(err))
		}
	}
	return nil
}

// lacking are those of want that are not in has.
func lacking(want, has []string) []string {
	return slices.DeleteFunc(slices.Clone(want), func(t string) bool { return slices.Contains(has, t) })
}
