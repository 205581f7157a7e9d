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
	// checkEvery is the interval between checks of a server's ports and trunks, which the server itself does
	// not show.
	checkEvery = time.Hour
	// refusedFor is the time without another try after a final refusal.
	refusedFor = 30 * time.Minute
)

// Unkept implements [provider.Maintainer].
func (s *session) Unkept(ref provider.Ref, i provider.Instance) bool {
	v := observed{s.scope, ref, i}
	if s.bare || !v.proven() {
		return false
	}
	return v.missing() != "" || s.provider.checks.due(i.ID, s.provider.config.Clock.Now())
}

// Maintain implements [provider.Maintainer]. A failed repair does not stop the others. A refusal does not
// drop the client: a permission that only repairs need is no reason to log in again.
func (s *session) Maintain(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	if s.bare {
		return nil
	}
	now, owed := s.provider.config.Clock.Now(), observed{s.scope, ref, i}.missing()
	if err := s.provider.checks.refusal(i.ID, owed, now); err != nil {
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
	if v == nil || state(*v) != provider.Running || !(observed{s.scope, ref, s.toInstance(c, *v)}).proven() {
		return nil
	}
	m := maintainer{creator{call{s, c}, ref}, *v}
	// Ports first: they identify the original's servers while these have no UID of ours.
	err = errors.Join(m.restorePorts(ctx), m.restoreMetadata(ctx), m.restoreTags(ctx))
	s.provider.checks.done(i.ID, check{at: now, missing: owed, err: err})
	return err
}

// observed is an instance from the point of view of one machine.
type observed struct {
	scope
	ref   provider.Ref
	shown provider.Instance
}

// proven reports whether an instance is ref's: its metadata or, if users removed those, its tag names ref.
// If neither names a machine, the machine has recorded it, within the ownership scope.
func (v observed) proven() bool {
	switch tag := v.shown.Tags[strings.TrimSuffix(tagUID, "=")]; {
	case v.ref.UID == "":
		return false
	case v.shown.UID != "":
		return v.shown.UID == v.ref.UID
	case tag != "":
		return tag == v.ref.UID
	}
	return v.shown.ID != "" && identify(v.ref.ProviderID) == strings.ToLower(v.shown.ID)
}

// missing is what an instance visibly lacks, as text; empty: nothing. A tag is not shown if metadata have the
// same key.
func (v observed) missing() string {
	var owed []string
	for key, value := range v.serverMetadata(v.ref) {
		if is, there := v.shown.Tags[key]; !there || is != value && !ours(key) {
			owed = append(owed, key+"="+value)
		}
	}
	for _, t := range v.serverTags(v.ref) {
		key, _, _ := strings.Cut(t, "=")
		if _, there := v.shown.Tags[key]; !there {
			owed = append(owed, t)
		}
	}
	if f := v.plan.floating; f != "" && !hasAddress(v.shown, f) {
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

// maintainer repairs the settings of one live server.
type maintainer struct {
	creator
	server servers.Server
}

// restoreMetadata writes the metadata that the server lacks, and changed values of the spec. It never changes
// the recorded owner.
func (m maintainer) restoreMetadata(ctx context.Context) error {
	owed := m.serverMetadata(m.ref)
	maps.DeleteFunc(owed, func(key, value string) bool {
		is, there := m.server.Metadata[key]
		return there && (is == value || ours(key))
	})
	if len(owed) == 0 {
		return nil
	}
	if _, err := servers.UpdateMetadata(ctx, m.client.compute, m.server.ID, servers.MetadataOpts(owed)).Extract(); err != nil {
		return fmt.Errorf("write metadata of server %s of %s: %w", m.server.ID, m.ref.Name, m.plan.blame(err))
	}
	return nil
}

// restoreTags adds the tags that the server lacks, one by one, so that it overwrites no concurrent change.
func (m maintainer) restoreTags(ctx context.Context) error {
	for _, t := range lacking(m.serverTags(m.ref), tagsOf(m.server)) {
		if err := tags.Add(ctx, m.client.compute, m.server.ID, url.PathEscape(t)).ExtractErr(); err != nil {
			return fmt.Errorf("tag server %s of %s with %q: %w", m.server.ID, m.ref.Name, t, m.plan.blame(err))
		}
	}
	return nil
}

// lacking are those of want that are not in has.
func lacking(want, has []string) []string {
	return slices.DeleteFunc(slices.Clone(want), func(t string) bool { return slices.Contains(has, t) })
}
