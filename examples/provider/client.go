package larch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// client sends the requests of one account, each once. Package decorate repeats and limits them.
type client struct {
	endpoint, token string
	// observe removes the client from the cache if Larch refuses its token.
	observe func(error) error

	mu   sync.Mutex
	name string // the ID of the account; empty until the first request
}

type machine struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	Type      string            `json:"type"`
	Zone      string            `json:"zone"`
	State     string            `json:"state"`
	Address   string            `json:"address"`
	Operation string            `json:"operation"` // the last operation
	Created   time.Time         `json:"created"`
	Tags      map[string]string `json:"tags"`
}

type disk struct {
	ID      string            `json:"id"`
	Zone    string            `json:"zone"`
	Machine string            `json:"machine"` // Larch deletes the disk with this machine
	Tags    map[string]string `json:"tags"`
}

type operation struct {
	Error *problem `json:"error"`
}

// problem is an error response of Larch.
type problem struct {
	status  int
	Code    string `json:"code"`
	Field   string `json:"field"`
	Message string `json:"message"`
	ID      string `json:"id"` // the conflicting object
}

func (p *problem) Error() string { return p.Message }

// problemOf returns Larch's response; an empty problem if the error is not a response of Larch.
func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	return &problem{}
}

func isNotFound(err error) bool { return problemOf(err).status == http.StatusNotFound }

// classify returns the error with its kind, which decides the reaction of the engine.
func (p *problem) classify(after time.Duration) *provider.Error {
	e := &provider.Error{Kind: provider.Transient, After: after, Err: p}
	switch {
	case p.Code == "sold_out":
		e.Kind, e.Scope = provider.Exhausted, provider.ScopeType
	case p.Code == "zone_full":
		e.Kind, e.Scope = provider.Exhausted, provider.ScopeZone
	case p.Code == "quota":
		e.Kind, e.Scope = provider.Exhausted, provider.ScopeAccount
	case p.status == http.StatusUnprocessableEntity:
		e.Kind, e.Field = provider.Invalid, p.Field
	case p.status == http.StatusUnauthorized, p.status == http.StatusForbidden:
		e.Kind = provider.Denied
	case p.status == http.StatusTooManyRequests:
		e.Kind = provider.Throttled
	case p.status == http.StatusConflict:
		e.Kind = provider.Conflict
	}
	return e
}

// call sends in as JSON, and decodes the response into out unless out is nil.
func (c *client) call(ctx context.Context, method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, c.endpoint+"/v1/"+path, bytes.NewReader(body))
	if err != nil {
		return provider.Errorf(provider.Denied, "the endpoint in the secret with the credentials: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return err // unclassified: Larch may have performed the request
	}
	defer answer.Body.Close()
	if answer.StatusCode < http.StatusBadRequest {
		if out == nil {
			return nil
		}
		return json.NewDecoder(answer.Body).Decode(out)
	}
	p := &problem{status: answer.StatusCode, Message: answer.Status}
	_ = json.NewDecoder(answer.Body).Decode(p) // the response of a proxy has no such fields: then only the status counts
	seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
	// The machine stores the text. It must not change with each attempt, so it has no query.
	what, _, _ := strings.Cut(path, "?")
	return c.observe(fmt.Errorf("%s %s: %w", method, what, p.classify(time.Duration(seconds)*time.Second)))
}

// list yields the items of all pages. After an error the listing is incomplete.
func list[T any](ctx context.Context, c *client, what string, filter url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		for next := "0"; next != ""; {
			var page struct {
				Items []T    `json:"items"`
				Next  string `json:"next"`
			}
			filter.Set("page", next)
			if err := c.call(ctx, http.MethodGet, what+"?"+filter.Encode(), nil, &page); err != nil {
				yield(none, err)
				return
			}
			for _, i := range page.Items {
				if !yield(i, nil) {
					return
				}
			}
			next = page.Next
		}
	}
}

// account returns the ID of the account. It sends one request in the life of the client.
func (c *client) account(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.name != "" {
		return c.name, nil
	}
	var a struct {
		ID string `json:"id"`
	}
	if err := c.call(ctx, http.MethodGet, "account", nil, &a); err != nil {
		return "", err
	}
	if a.ID == "" {
		return "", errors.New("larch returned no account ID")
	}
	c.name = a.ID
	return a.ID, nil
}
