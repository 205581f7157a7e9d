// Package nova calls OpenStack for servers, for the reference driver and the reference actuator: over HTTP,
// without an SDK.
package nova

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// microversion is the first one that shows the needed fields.
const microversion = "2.53"

// Cloud is a login to OpenStack.
type Cloud struct {
	http  *http.Client
	token string
	// Services are the endpoints in the catalog, by type.
	Services map[string]string
}

// Server has the used fields of a server.
type Server struct {
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

// Credentials are those of a user and a project, both in the domain.
type Credentials struct{ AuthURL, Username, Password, Domain, Project string }

// Login requests a token and the catalog from Keystone.
func Login(ctx context.Context, client *http.Client, as Credentials, region string) (*Cloud, error) {
	domain := map[string]string{"name": as.Domain}
	ask := map[string]any{"auth": map[string]any{
		"identity": map[string]any{"methods": []string{"password"}, "password": map[string]any{
			"user": map[string]any{"name": as.Username, "password": as.Password, "domain": domain},
		}},
		"scope": map[string]any{"project": map[string]any{"name": as.Project, "domain": domain}},
	}}
	var answer struct {
		Token struct {
			Catalog []struct {
				Type      string `json:"type"`
				Endpoints []struct{ Interface, Region, URL string }
			} `json:"catalog"`
		} `json:"token"`
	}
	c := &Cloud{http: client, Services: map[string]string{}}
	header, err := c.Call(ctx, http.MethodPost, strings.TrimSuffix(as.AuthURL, "/")+"/auth/tokens", ask, &answer)
	if err != nil {
		return nil, err
	}
	c.token = header.Get("X-Subject-Token")
	for _, s := range answer.Token.Catalog {
		for _, e := range s.Endpoints {
			if e.Interface == "public" && e.Region == region {
				c.Services[s.Type] = e.URL
			}
		}
	}
	return c, nil
}

// Refused is an answer with an error status.
type Refused struct { //nolint:errname // a status, as the error that it is
	Status int
	Body   string
}

func (r Refused) Error() string { return fmt.Sprintf("HTTP %d: %s", r.Status, r.Body) }

// Call makes a request, with body as JSON, and decodes the answer into into, unless into is nil. An error
// status is a [Refused].
func (c *Cloud) Call(ctx context.Context, method, address string, body, into any) (http.Header, error) {
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
		return nil, Refused{answer.StatusCode, string(raw)}
	case into == nil:
		return answer.Header, nil
	}
	return answer.Header, json.Unmarshal(raw, into)
}

// Servers returns the servers with all of the tags, and with the name unless it is empty, page by page.
func (c *Cloud) Servers(ctx context.Context, name string, tags map[string]string) (all []Server, err error) {
	next := c.Services["compute"] + "/servers/detail"
	if name != "" {
		next += "?name=" + url.QueryEscape("^"+name+"$")
	}
	for next != "" {
		var page struct {
			Servers []Server
			Links   []struct{ Rel, Href string } `json:"servers_links"`
		}
		if _, err := c.Call(ctx, http.MethodGet, next, nil, &page); err != nil {
			return nil, err
		}
		next = ""
		for _, l := range page.Links {
			if l.Rel == "next" {
				next = l.Href
			}
		}
		for _, s := range page.Servers {
			if s.Has(tags) {
				all = append(all, s)
			}
		}
	}
	return all, nil
}

// Has reports whether the server has all of the tags.
func (s Server) Has(tags map[string]string) bool {
	for key, value := range tags {
		if s.Metadata[key] != value {
			return false
		}
	}
	return true
}

// NodeAddresses are its addresses in Kubernetes' types.
func (s Server) NodeAddresses() (out []corev1.NodeAddress) {
	for _, network := range s.Addresses {
		for _, a := range network {
			out = append(out, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a.Addr})
		}
	}
	return out
}

// Server returns the server with the ID.
func (c *Cloud) Server(ctx context.Context, id string) (s Server, err error) {
	answer := struct{ Server *Server }{&s}
	_, err = c.Call(ctx, http.MethodGet, c.Services["compute"]+"/servers/"+id, nil, &answer)
	return s, err
}

// Gone reports whether the error is a "not found" answer.
func Gone(err error) bool {
	r, ok := errors.AsType[Refused](err)
	return ok && r.Status == http.StatusNotFound
}

// Order is a request for a server. Image and Flavor are names.
type Order struct {
	Name, Image, Flavor, KeyName, Zone, Network string
	Metadata                                    map[string]string
}

// ErrNoSuch says that the cloud has no image or flavor of the name.
var ErrNoSuch = errors.New("the cloud has no image or flavor of that name")

// Order creates a server, and returns its ID.
func (c *Cloud) Order(ctx context.Context, o Order, userData []byte) (string, error) {
	image, flavor, err := c.parts(ctx, o)
	if err != nil {
		return "", err
	}
	body := map[string]any{
		"name": o.Name, "imageRef": image, "flavorRef": flavor, "metadata": o.Metadata,
		"networks": []any{map[string]any{"uuid": o.Network}}, "user_data": base64.StdEncoding.EncodeToString(userData),
	}
	for key, value := range map[string]string{"key_name": o.KeyName, "availability_zone": o.Zone} {
		if value != "" {
			body[key] = value
		}
	}
	var made struct{ Server Server }
	_, err = c.Call(ctx, http.MethodPost, c.Services["compute"]+"/servers", map[string]any{"server": body}, &made)
	return made.Server.ID, err
}

// parts are the IDs of image and flavor.
func (c *Cloud) parts(ctx context.Context, o Order) (image, flavor string, err error) {
	var all struct {
		Images  []struct{ ID string }
		Flavors []struct{ ID, Name string }
	}
	if _, err = c.Call(ctx, http.MethodGet, c.Services["image"]+"/v2/images?name="+url.QueryEscape(o.Image), nil, &all); err != nil {
		return "", "", err
	}
	if _, err = c.Call(ctx, http.MethodGet, c.Services["compute"]+"/flavors/detail", nil, &all); err != nil {
		return "", "", err
	}
	for _, f := range all.Flavors {
		if f.Name == o.Flavor {
			flavor = f.ID
		}
	}
	if len(all.Images) != 1 || flavor == "" {
		return "", "", fmt.Errorf("%w: there are %d images named %q, and flavor %q has the ID %q", ErrNoSuch, len(all.Images), o.Image, o.Flavor, flavor)
	}
	return all.Images[0].ID, flavor, nil
}
