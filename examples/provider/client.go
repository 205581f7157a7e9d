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

// client makes the calls of one account: each once. Repeating, sharing and limiting them is done around the provider.
type client struct {
	endpoint, token string
	// observe drops the client when its token is refused.
	observe func(error) error

	mu   sync.Mutex
	name string // of the account, once it was asked for
}

type machine struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	Type      string            `json:"type"`
	Zone      string            `json:"zone"`
	State     string            `json:"state"`
	Address   string            `json:"address"`
	Operation string            `json:"operation"` // what was done to it last
	Created   time.Time         `json:"created"`
	Tags      map[string]string `json:"tags"`
}

type disk struct {
	ID      string            `json:"id"`
	Zone    string            `json:"zone"`
	Machine string            `json:"machine"` // with which it goes
	Tags    map[string]string `json:"tags"`
}

type operation struct {
	Error *problem `json:"error"`
}

// problem is what Larch says of a failure.
type problem struct {
	status  int
	Code    string `json:"code"`
	Field   string `json:"field"`
	Message string `json:"message"`
	ID      string `json:"id"` // of what is in the way
}

func (p *problem) Error() string { return p.Message }

// problemOf is what Larch said; a problem that says nothing where it was not Larch that failed.
func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	return &problem{}
}

func isNotFound(err error) bool { return problemOf(err).status == http.StatusNotFound }

// classify gives a problem its kind: what the engine does about it.
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

// call sends in, unless it is nil, and decodes the answer into out, unless that is nil.
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
		return err // unclassified: it may have been done all the same
	}
	defer answer.Body.Close()
	if answer.StatusCode < http.StatusBadRequest {
		if out == nil {
			return nil
		}
		return json.NewDecoder(answer.Body).Decode(out)
	}
	p := &problem{status: answer.StatusCode, Message: answer.Status}
	_ = json.NewDecoder(answer.Body).Decode(p) // where somebody else answers for Larch, the status has to do
	seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
	// Texts are stored on the machine: nothing is in them that differs each time, and no query.
	what, _, _ := strings.Cut(path, "?")
	return c.observe(fmt.Errorf("%s %s: %w", method, what, p.classify(time.Duration(seconds)*time.Second)))
}

// list yields all pages of a listing. What comes before an error is not all there is.
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

// account is the ID of the account, for which one call is made in the client's life.
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
		return "", errors.New("larch does not say which account the token is for")
	}
	c.name = a.ID
	return a.ID, nil
}
