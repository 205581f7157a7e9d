package reference

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/status"
	corev1 "k8s.io/api/core/v1"
)

// microversion is the first that shows what is needed here.
const microversion = "2.53"

// cloud is a login to OpenStack.
type cloud struct {
	http  *http.Client
	token string
	// services are the addresses of the catalog, by type.
	services map[string]string
}

// server is one of Nova, as far as it is looked at.
type server struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	Status    string            `json:"status"`
	Metadata  map[string]string `json:"metadata"`
	Addresses map[string][]struct {
		Addr string `json:"addr"`
	} `json:"addresses"`
	Fault struct {
		Message string `json:"message"`
	} `json:"fault"`
}

// login asks Keystone for a token and the catalog.
func login(ctx context.Context, client *http.Client, secret *corev1.Secret, region string) (*cloud, error) {
	text := func(key string) string { return string(secret.Data[key]) }
	domain := map[string]string{"name": text("domainName")}
	ask := map[string]any{"auth": map[string]any{
		"identity": map[string]any{"methods": []string{"password"}, "password": map[string]any{
			"user": map[string]any{"name": text("username"), "password": text("password"), "domain": domain},
		}},
		"scope": map[string]any{"project": map[string]any{"name": text("tenantName"), "domain": domain}},
	}}
	var answer struct {
		Token struct {
			Catalog []struct {
				Type      string `json:"type"`
				Endpoints []struct{ Interface, Region, URL string }
			} `json:"catalog"`
		} `json:"token"`
	}
	c := &cloud{http: client, services: map[string]string{}}
	header, err := c.call(ctx, http.MethodPost, strings.TrimSuffix(text("authURL"), "/")+"/auth/tokens", ask, &answer)
	if err != nil {
		return nil, err
	}
	c.token = header.Get("X-Subject-Token")
	for _, s := range answer.Token.Catalog {
		for _, e := range s.Endpoints {
			if e.Interface == "public" && e.Region == region {
				c.services[s.Type] = e.URL
			}
		}
	}
	return c, nil
}

// refusedError is an answer that is none of success.
type refusedError struct {
	status int
	body   string
}

func (r refusedError) Error() string { return fmt.Sprintf("HTTP %d: %s", r.status, r.body) }

func (c *cloud) call(ctx context.Context, method, address string, body, into any) (http.Header, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("OpenStack-API-Version", "compute "+microversion)
	r.Header.Set("X-Auth-Token", c.token)
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	raw, err = io.ReadAll(io.LimitReader(answer.Body, 16<<20))
	switch {
	case err != nil:
		return nil, err
	case answer.StatusCode >= http.StatusMultipleChoices:
		return nil, refusedError{answer.StatusCode, string(raw)}
	case into == nil:
		return answer.Header, nil
	}
	return answer.Header, json.Unmarshal(raw, into)
}

// servers are those with all of the tags, and with the name if there is one, page by page.
func (c *cloud) servers(ctx context.Context, name string, tags map[string]string) (all []server, err error) {
	next := c.services["compute"] + "/servers/detail"
	if name != "" {
		next += "?name=" + url.QueryEscape("^"+name+"$")
	}
	for next != "" {
		var page struct {
			Servers []server
			Links   []struct{ Rel, Href string } `json:"servers_links"`
		}
		if _, err := c.call(ctx, http.MethodGet, next, nil, &page); err != nil {
			return nil, err
		}
		next = ""
		for _, l := range page.Links {
			if l.Rel == "next" {
				next = l.Href
			}
		}
		for _, s := range page.Servers {
			if s.has(tags) {
				all = append(all, s)
			}
		}
	}
	return all, nil
}

func (s server) has(tags map[string]string) bool {
	for key, value := range tags {
		if s.Metadata[key] != value {
			return false
		}
	}
	return true
}

func (s server) addresses() (out []corev1.NodeAddress) {
	for _, network := range s.Addresses {
		for _, a := range network {
			out = append(out, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a.Addr})
		}
	}
	return out
}

func (c *cloud) server(ctx context.Context, id string) (s server, err error) {
	answer := struct{ Server *server }{&s}
	_, err = c.call(ctx, http.MethodGet, c.services["compute"]+"/servers/"+id, nil, &answer)
	return s, err
}

// await polls a server until it is as wanted.
func (c *cloud) await(ctx context.Context, id string, every time.Duration, wanted func(server, error) (bool, error)) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		s, err := c.server(ctx, id)
		if done, err := wanted(s, err); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return status.Error(codes.DeadlineExceeded, fmt.Sprintf("server %s is %s: %v", id, s.Status, ctx.Err()))
		case <-tick.C:
		}
	}
}

func gone(err error) bool {
	r, ok := errors.AsType[refusedError](err)
	return ok && r.status == http.StatusNotFound
}

// coded says by a code what went wrong.
func coded(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*status.Status](err); ok {
		return err
	}
	r, ok := errors.AsType[refusedError](err)
	code := codes.Unavailable
	switch {
	case !ok:
	case r.status == http.StatusUnauthorized:
		code = codes.Unauthenticated
	case strings.Contains(strings.ToLower(r.body), "quota"):
		code = codes.ResourceExhausted
	case r.status == http.StatusForbidden:
		code = codes.PermissionDenied
	case r.status == http.StatusBadRequest:
		code = codes.InvalidArgument
	case r.status == http.StatusNotFound:
		code = codes.NotFound
	case r.status == http.StatusConflict:
		code = codes.Aborted
	case r.status >= http.StatusInternalServerError:
		code = codes.Internal
	}
	return status.Error(code, err.Error())
}
