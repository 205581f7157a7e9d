package gce

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// TestAcceptAny: any credentials are accepted, for any project, zone and network, until all are revoked.
func TestAcceptAny(t *testing.T) {
	clock := &double.Clock{}
	c := Administered{New(clock, Options{Inventory: Sample(), AcceptAny: true})}
	s := httptest.NewServer(double.NewServer(clock, c))
	t.Cleanup(s.Close)
	token := func() string {
		part := func(v any) string {
			raw, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return base64.RawURLEncoding.EncodeToString(raw)
		}
		assertion := strings.Join([]string{
			part(map[string]string{"alg": "RS256", "kid": "theirs"}),
			part(claims{Issuer: "m@elsewhere.iam.gserviceaccount.com", Audience: TokenHost + tokenPath, Scope: "https://www.googleapis.com/auth/compute", Expires: time.Now().Add(time.Hour).Unix()}),
			base64.RawURLEncoding.EncodeToString([]byte("signed by a key that nobody knows")),
		}, ".")
		answer, err := http.PostForm(s.URL+tokenPath, url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {assertion}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		var got struct {
			Token string `json:"access_token"`
		}
		if err := json.NewDecoder(answer.Body).Decode(&got); err != nil {
			t.Fatal(err)
		}
		return got.Token
	}
	held := token()
	for _, path := range []string{
		"regions/asia-east1", "zones/asia-east1-a", "global/networks/n", "regions/asia-east1/subnetworks/s", "global/images/i",
		"zones/asia-east1-a/machineTypes/t-1", "zones/asia-east1-a/acceleratorTypes/a",
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprint(s.URL, computePath, "elsewhere/", path), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+held)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, answer.Status)
		}
	}
	c.Revoke()
	if token() != "" {
		t.Error("a token is given after all were locked out")
	}
}
