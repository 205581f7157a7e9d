package cloud

import (
	"context"
	"net/http"

	"github.com/millwright-dev/millwright/provider"
)

// reservation reserves UUIDs under an identifier of the client's choice. Prism Central returns the same UUIDs
// for the same identifier, for a year. The UUIDs may be used in later requests.
type reservation struct {
	Identifier string `json:"client_identifier"`
	Count      int    `json:"count"`
}

// reserved is the answer to a reservation.
type reserved struct {
	UUIDs []string `json:"uuid_list"`
}

const reservationsPath = "/idempotence_identifiers"

func (s *session) token(ref provider.Ref) string { return ref.Token(s.class.Cluster) }

// reserve returns the UUID for the machine's virtual machine: the same one until it is released.
func (s creator) reserve(ctx context.Context, c *client, ref provider.Ref) (string, error) {
	token := s.token(ref)
	return c.reserved.Get(ctx, token, func(ctx context.Context) (string, error) {
		var out reserved
		err := c.call(ctx, http.MethodPost, reservationsPath, reservation{Identifier: token, Count: 1}, &out)
		if provider.KindOf(classify("", err)) == provider.Conflict { // it exists
			out = reserved{}
			err = c.call(ctx, http.MethodGet, reservationsPath+"/"+token, nil, &out)
		}
		if err == nil && (len(out.UUIDs) == 0 || out.UUIDs[0] == "") {
			err = provider.Errorf(provider.Transient, "the answer has no UUID")
		}
		if err != nil {
			return "", s.observe("reserve a UUID for the virtual machine", err)
		}
		return out.UUIDs[0], nil
	})
}

// reservedUUID is the UUID that is reserved for a machine; empty if none is.
func (s finder) reservedUUID(ctx context.Context, c *client, ref provider.Ref) (string, error) {
	token := s.token(ref)
	if uuid, ok := c.reserved.Recall(token); ok {
		return uuid, nil
	}
	var out reserved
	err := c.call(ctx, http.MethodGet, reservationsPath+"/"+token, nil, &out)
	switch {
	case missing(err):
		return "", nil
	case err != nil:
		return "", s.observe("read the reserved UUID", err)
	case len(out.UUIDs) == 0:
		return "", provider.Errorf(provider.Transient, "the reservation of the machine has no UUID")
	}
	c.reserved.Put(token, out.UUIDs[0])
	return out.UUIDs[0], nil
}

// release releases the UUID of a machine whose virtual machine does not exist: a deleted one, or one that
// Prism Central could not create. A later creation gets another UUID.
func (s *session) release(ctx context.Context, c *client, ref provider.Ref) error {
	token := s.token(ref)
	err := c.call(ctx, http.MethodDelete, reservationsPath+"/"+token, nil, nil)
	if err != nil && !missing(err) {
		return s.observe("release the UUID of the virtual machine", err)
	}
	c.reserved.Forget(token)
	c.created.Forget(token)
	return nil
}
