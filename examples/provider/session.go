package larch

import (
	"context"
	"errors"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/provider"
)

type session struct {
	provider.Base // an empty Status
	class         provider.Class
	spec          *Spec // nil if the class does not exist
	client        *client
}

// Find implements [provider.Session]. Larch cannot combine filters with "or", so Find sends up to three requests.
func (s *session) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	found := map[string]machine{}
	if ref.UID != "" {
		for m, err := range s.machines(ctx, url.Values{"tag." + TagUID: {ref.UID}}) {
			if err != nil {
				return nil, err
			}
			found[m.ID] = m
		}
	}
	for m, err := range s.machines(ctx, url.Values{"name": {ref.Name}}) {
		if err != nil {
			return nil, err
		}
		if m.Tags[TagUID] == "" { // another program created it
			found[m.ID] = m
		}
	}
	if strings.HasPrefix(ref.ProviderID, scheme) {
		m, err := s.machine(ctx, provider.Tail(ref.ProviderID))
		if err != nil && !isNotFound(err) {
			return nil, err
		}
		if err == nil && m.Tags[TagCluster] == s.class.Cluster {
			found[m.ID] = m
		}
	}
	var all []provider.Instance
	for _, id := range slices.Sorted(maps.Keys(found)) {
		i, err := s.instance(ctx, found[id])
		if err != nil {
			return nil, err
		}
		all = append(all, i)
	}
	return all, nil
}

// Create implements [provider.Session]. It first looks for an existing instance. If an earlier Create requested an instance that
// listings do not show yet, the disk refers to it.
func (s *session) Create(ctx context.Context, ref provider.Ref, want provider.Want) (none provider.Instance, _ error) {
	if s.spec == nil {
		return none, provider.Errorf(provider.Invalid, "the class has no spec")
	}
	zone := want.Choice
	if zone == "" {
		zone = s.spec.Zones[0]
	}
	if !slices.Contains(s.spec.Zones, zone) {
		return none, provider.InvalidField("zones", "zone %q is not in the list", zone)
	}
	found, err := s.Find(ctx, ref)
	if err != nil {
		return none, err
	}
	if found = provider.Existing(found); len(found) > 0 {
		return found[0], nil
	}
	d, err := s.reserve(ctx, ref, zone)
	if err != nil {
		return none, err
	}
	var m machine
	if d.Machine != "" {
		m, err = s.machine(ctx, d.Machine)
	} else {
		err = s.client.call(ctx, http.MethodPost, "machines", map[string]any{
			"name": ref.Name, "type": s.spec.Type, "zone": zone, "disk": d.ID, "userData": want.UserData, "tags": s.tags(ref),
		}, &m)
	}
	if provider.KindOf(err) == provider.Exhausted {
		// The next choice is another zone, which cannot use this disk.
		return none, errors.Join(err, s.removeDisk(ctx, d.ID))
	}
	if err != nil {
		return none, err
	}
	return s.instance(ctx, m)
}

// reserve creates the disk of a machine, or returns the existing one. Larch refuses a second disk with the same name, and a second
// machine with the same disk. This prevents a second machine if two processes create at the same time.
func (s *session) reserve(ctx context.Context, ref provider.Ref, zone string) (d disk, _ error) {
	err := s.client.call(ctx, http.MethodPost, "disks", map[string]any{
		"name": ref.Token(s.class.Cluster), "zone": zone, "image": s.spec.Image, "tags": s.tags(ref),
	}, &d)
	p := problemOf(err)
	if p.Code != "name_taken" {
		return d, err
	}
	if err := s.client.call(ctx, http.MethodGet, "disks/"+url.PathEscape(p.ID), nil, &d); err != nil {
		return d, err
	}
	if d.Machine == "" && d.Zone != zone { // left by an earlier choice
		return d, errors.Join(provider.Errorf(provider.Conflict, "disk %s existed in zone %s", d.ID, d.Zone), s.removeDisk(ctx, d.ID))
	}
	return d, nil
}

// Delete implements [provider.Session].
func (s *session) Delete(ctx context.Context, ref provider.Ref, given []provider.Instance) (done bool, _ error) {
	ids := map[string]bool{}
	for _, i := range given {
		ids[i.ID] = true
	}
	if ref.UID != "" {
		for m, err := range s.machines(ctx, url.Values{"tag." + TagUID: {ref.UID}}) {
			if err != nil {
				return false, err
			}
			ids[m.ID] = true
		}
	}
	done = true
	for id := range ids {
		err := s.client.call(ctx, http.MethodDelete, "machines/"+url.PathEscape(id), nil, nil)
		if err != nil && !isNotFound(err) {
			return false, err
		}
		done = done && isNotFound(err) // until then the machine is being deleted
	}
	if ref.UID == "" {
		return done, nil
	}
	for d, err := range s.disks(ctx, url.Values{"tag." + TagUID: {ref.UID}}) {
		if err == nil && d.Machine == "" {
			err = s.removeDisk(ctx, d.ID)
		}
		if err != nil {
			return false, err
		}
	}
	return done, nil
}

// List implements [provider.Session].
func (s *session) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return func(yield func(provider.Instance, error) bool) {
		for m, err := range s.machines(ctx, url.Values{}) {
			var i provider.Instance
			if err == nil {
				i, err = s.instance(ctx, m)
			}
			if !yield(i, err) || err != nil {
				return
			}
		}
	}
}

// machines returns the machines of the cluster that fit the filter.
func (s *session) machines(ctx context.Context, filter url.Values) iter.Seq2[machine, error] {
	filter.Set("tag."+TagCluster, s.class.Cluster)
	return list[machine](ctx, s.client, "machines", filter)
}

// disks returns the disks of the cluster that fit the filter.
func (s *session) disks(ctx context.Context, filter url.Values) iter.Seq2[disk, error] {
	filter.Set("tag."+TagCluster, s.class.Cluster)
	return list[disk](ctx, s.client, "disks", filter)
}

// machine returns one machine. Reads by ID do not lag.
func (s *session) machine(ctx context.Context, id string) (m machine, _ error) {
	err := s.client.call(ctx, http.MethodGet, "machines/"+url.PathEscape(id), nil, &m)
	return m, err
}

func (s *session) removeDisk(ctx context.Context, id string) error {
	err := s.client.call(ctx, http.MethodDelete, "disks/"+url.PathEscape(id), nil, nil)
	if isNotFound(err) {
		return nil
	}
	return err
}

// tags returns the tags of the user and of the provider. decode refuses user tags with the provider's prefix.
func (s *session) tags(ref provider.Ref) map[string]string {
	tags := map[string]string{
		TagCluster: s.class.Cluster, TagOwner: s.class.Owner, TagUID: ref.UID, TagNamespace: ref.Namespace, TagName: ref.Name,
	}
	maps.Copy(tags, s.spec.Tags)
	return tags
}
