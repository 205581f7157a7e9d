package cloud

import (
	"context"
	"iter"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/provider"
)

// Find implements [provider.Session]. If the virtual machine has the name of the machine, that is one call.
func (s *session) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	c, err := s.client(ctx)
	if err != nil {
		return nil, err
	}
	return finder{s}.find(ctx, c, ref)
}

// find searches by name, which also shows virtual machines of another implementation, and then reads those that
// the provider ID and the machine's reservation name: a listing may lag, and has none that is being created.
func (s finder) find(ctx context.Context, c *client, ref provider.Ref) ([]provider.Instance, error) {
	found := map[string]*vm{}
	for v, err := range s.search(ctx, c, ref) {
		if err != nil {
			return nil, err
		}
		if _, gone := c.gone.Recall(v.uuid()); !gone {
			found[v.uuid()] = v
		}
	}
	if err := s.add(ctx, c, found, idOf(ref.ProviderID)); err != nil {
		return nil, err
	}
	if ref.UID != "" && !s.hasOwn(found, ref) {
		uuid, err := s.reservedUUID(ctx, c, ref)
		if err == nil && uuid != idOf(ref.ProviderID) { // else it was read
			err = s.add(ctx, c, found, uuid)
		}
		if err != nil {
			return nil, err
		}
		if uuid == "" && len(found) == 0 && ref.ProviderID == "" {
			c.absent.Put(s.token(ref), struct{}{})
			return nil, nil
		}
	}
	if out := s.matching(ctx, c, found, ref); len(out) > 0 {
		return out, nil
	}
	i, ok, err := creator(s).outcome(ctx, c, ref)
	if !ok || err != nil {
		return nil, err
	}
	return []provider.Instance{i}, nil
}

// wasAbsent reports whether a machine had no virtual machine and no reservation moments ago, and none was
// requested since.
func (s finder) wasAbsent(c *client, ref provider.Ref) bool {
	_, absent := c.absent.Recall(s.token(ref))
	return absent && ref.ProviderID == ""
}

// search yields the virtual machines with the name of a machine, or all if it has no name.
func (s finder) search(ctx context.Context, c *client, ref provider.Ref) iter.Seq2[*vm, error] {
	if ref.Name == "" {
		return s.all(ctx, c, "")
	}
	return s.all(ctx, c, "vm_name=="+ref.Name)
}

// all yields the virtual machines that a filter describes.
func (s finder) all(ctx context.Context, c *client, filter string) iter.Seq2[*vm, error] {
	return func(yield func(*vm, error) bool) {
		for v, err := range each[*vm](ctx, c, kindVM, filter) {
			if err != nil {
				yield(nil, s.observe("list virtual machines", err))
				return
			}
			if !yield(v, nil) {
				return
			}
		}
	}
}

// one is the virtual machine with a UUID; nil if it does not exist.
func (s finder) one(ctx context.Context, c *client, uuid string) (*vm, error) {
	var v vm
	err := c.call(ctx, http.MethodGet, "/vms/"+uuid, nil, &v)
	if missing(err) {
		return nil, nil
	}
	if err == nil && v.uuid() == "" {
		err = provider.Errorf(provider.Transient, "the answer has no UUID")
	}
	if err != nil {
		return nil, s.observe("read virtual machine "+uuid, err)
	}
	return &v, nil
}

// add reads the virtual machine with a UUID, unless it has been found.
func (s finder) add(ctx context.Context, c *client, found map[string]*vm, uuid string) error {
	if _, gone := c.gone.Recall(uuid); gone || uuid == "" || found[uuid] != nil {
		return nil
	}
	v, err := s.one(ctx, c, uuid)
	if v != nil {
		found[uuid] = v
	}
	if _, leaving := c.leaving.Recall(uuid); leaving && v == nil && err == nil {
		c.gone.Put(uuid, struct{}{})
	}
	return err
}

func (s finder) hasOwn(found map[string]*vm, ref provider.Ref) bool {
	for _, v := range found {
		if marksOf(v)[uidMark] == ref.UID {
			return true
		}
	}
	return false
}

// matching are the virtual machines that may be ref's, in the order of their UUIDs. The one that the provider ID
// names may have no mark of any cluster: the original creates such virtual machines if the category of the
// cluster does not exist.
func (s finder) matching(ctx context.Context, c *client, found map[string]*vm, ref provider.Ref) (out []provider.Instance) {
	id, reserved := idOf(ref.ProviderID), ""
	if ref.UID != "" {
		reserved, _ = c.reserved.Recall(s.token(ref))
	}
	for _, uuid := range slices.Sorted(maps.Keys(found)) {
		v := found[uuid]
		uid := marksOf(v)[uidMark]
		own, named := uid != "" && uid == ref.UID, uid == "" && ref.Name != "" && v.Spec.Name == ref.Name
		switch {
		case (ownership(s)).inScope(v) && (own || named || uuid == id || uuid == reserved), unowned(v) && (uuid == id || uuid == reserved):
			out = append(out, s.toInstance(ctx, c, v))
		}
	}
	return out
}

// List implements [provider.Session]. Prism Central lists no virtual machines by category: all are read.
func (s *session) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return func(yield func(provider.Instance, error) bool) {
		c, err := s.client(ctx)
		if err != nil {
			yield(provider.Instance{}, err)
			return
		}
		for v, err := range (finder{s}).all(ctx, c, "") {
			switch {
			case err != nil:
				yield(provider.Instance{}, err)
				return
			case !ownership{s}.inScope(v):
			case !yield(finder{s}.toInstance(ctx, c, v), nil):
				return
			}
		}
	}
}

// scheme begins provider IDs.
const scheme = "nutanix://"

var providerIDs = regexp.MustCompile(`(?i)^nutanix:/{2,3}([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)

// idOf is the UUID that a provider ID names; empty if it names none.
func idOf(providerID string) string {
	if m := providerIDs.FindStringSubmatch(providerID); m != nil {
		return strings.ToLower(m[1])
	}
	return ""
}

// identify is [provider.Traits].Identify.
func identify(providerID string) string {
	if id := idOf(providerID); id != "" {
		return scheme + id
	}
	return ""
}
