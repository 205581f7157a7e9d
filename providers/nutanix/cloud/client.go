package cloud

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/infrastructure"
	"github.com/millwright-dev/millwright/provider/kit"
)

// client is Prism Central in the view of one user, with cached answers.
type client struct {
	base  string
	user  login
	http  *http.Client
	pages int

	account  *kit.Memo[entity]   // Prism Central itself
	resolved *kit.Memo[string]   // UUIDs by what specs name
	present  *kit.Memo[bool]     // whether a category has a value, by both
	reserved *kit.Memo[string]   // the UUID that is reserved for a machine, by its token
	absent   *kit.Memo[struct{}] // machines that had no virtual machine, by token
	created  *kit.Memo[creation] // creations of this process, by token
	leaving  *kit.Memo[string]   // the tasks of accepted deletions, by UUID
	gone     *kit.Memo[struct{}] // deleted virtual machines, by UUID: a listing may still show them
	refusals *kit.Refusals       // of marks, by UUID and marks
}

// How long answers are cached.
const (
	aWhile = 5 * time.Minute
	aDay   = 24 * time.Hour
)

func newClient(o Options, at site, secret map[string][]byte) (*client, error) {
	user, err := loginOf(secret)
	if err != nil {
		return nil, err
	}
	if at.endpoint == "" {
		return nil, provider.Errorf(provider.Transient, "no Prism Central is known: the Infrastructure has no spec.platformSpec.nutanix.prismCentral, and the secret no key %q", keyEndpoint)
	}
	if u, err := url.Parse(at.endpoint); err != nil || u.Host == "" {
		return nil, provider.Errorf(provider.Denied, "the endpoint %q is no URL with a host", provider.Clip(at.endpoint, 200))
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 16
	if roots, ok := infrastructure.Trusted(at.caBundle); ok {
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	clock := o.Clock
	return &client{
		base: strings.TrimSuffix(at.endpoint, "/") + apiPath, user: user, http: &http.Client{Transport: transport}, pages: o.PageSize,
		account: kit.NewMemo[entity](clock, aDay), resolved: kit.NewMemo[string](clock, aWhile), present: kit.NewMemo[bool](clock, aWhile),
		reserved: kit.NewMemo[string](clock, aDay), absent: kit.NewMemo[struct{}](clock, readLag/2), created: kit.NewMemo[creation](clock, aDay),
		leaving: kit.NewMemo[string](clock, aWhile), gone: kit.NewMemo[struct{}](clock, aWhile), refusals: kit.NewRefusals(clock, 2*aWhile),
	}, nil
}

const apiPath = "/api/nutanix/v3"

// mostAnswer limits an answer in bytes.
const mostAnswer = 64 << 20

// call sends a request, and decodes the answer. in and out may be nil.
func (c *client) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(raw)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return err
	}
	request.SetBasicAuth(c.user.Username, c.user.Password)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "millwright")
	if in != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if err != nil {
		return err
	}
	if answer.StatusCode/100 != 2 {
		return refusalOf(answer, raw)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return provider.Errorf(provider.Transient, "the answer is no JSON of Prism Central: is the endpoint correct, or does a proxy answer? %w", err)
	}
	return nil
}

// listing is the body of a request for a page.
type listing struct {
	Kind   string `json:"kind"`
	Filter string `json:"filter,omitempty"`
	Length int    `json:"length"`
	Offset int    `json:"offset"`
}

// page is a page of a listing.
type page[T any] struct {
	Entities *[]T `json:"entities"`
	Metadata struct {
		Total int `json:"total_matches"`
	} `json:"metadata"`
}

// listed is an entity of a listing.
type listed interface{ uuid() string }

// each yields the entities that a filter describes, page by page; no filter describes all. Prism Central counts
// pages by offsets: if an entity disappears meanwhile, the next page begins too late. Therefore each page begins
// with the last entity of the previous page; if it does not, the listing ends with an error.
func each[T listed](ctx context.Context, c *client, kind, filter string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		in, last := listing{Kind: kind, Filter: filter, Length: c.pages}, ""
		for {
			var out page[T]
			err := c.call(ctx, http.MethodPost, "/"+kind+"s/list", in, &out)
			if err == nil && out.Entities == nil {
				err = errNoList
			}
			if err != nil {
				yield(none, err)
				return
			}
			entities := *out.Entities
			if last != "" {
				if len(entities) == 0 || entities[0].uuid() != last {
					yield(none, errMoved)
					return
				}
				entities = entities[1:]
			}
			for _, e := range entities {
				if !yield(e, nil) {
					return
				}
				last = e.uuid()
			}
			seen := in.Offset + len(*out.Entities)
			if seen >= out.Metadata.Total {
				return
			}
			if len(entities) == 0 { // else the listing would never end
				yield(none, errShort)
				return
			}
			in.Offset = seen - 1
		}
	}
}

// Errors of listings that are not complete: they never mean that nothing exists.
var (
	errNoList = provider.Errorf(provider.Transient, "the answer has no list: is the endpoint correct, or does a proxy answer?")
	errMoved  = provider.Errorf(provider.Transient, "entities appeared or disappeared between two pages")
	errShort  = provider.Errorf(provider.Transient, "Prism Central returned fewer entities than it has counted")
)

// after is the delay that an answer asks for; zero if it asks for none.
func after(answer *http.Response) time.Duration {
	seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
