package nova_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/nova"
)

// TestCredentialsAreLent: Keystone refuses a revoked user, and accepts an issued one, in its own project.
func TestCredentialsAreLent(t *testing.T) {
	clock := &double.Clock{}
	cloud := nova.Administered{Cloud: nova.New(clock, nova.Options{Inventory: nova.Sample()})}
	server := double.NewServer(clock, cloud)
	login := func(replaced map[string]string) int {
		is := func(text string) string {
			if other, ok := replaced[text]; ok {
				return other
			}
			return text
		}
		body := fmt.Sprintf(`{"auth":{"identity":{"methods":["password"],"password":{"user":{"name":%q,"password":%q,"domain":{"name":"Default"}}}},`+
			`"scope":{"project":{"name":%q,"domain":{"name":"Default"}}}}}`, is("machines"), is("secret"), is("demo"))
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/identity/v3/auth/tokens", strings.NewReader(body)))
		return w.Code
	}
	issue := func(account string) map[string]string {
		t.Helper()
		replaced, err := cloud.Issue(account)
		if err != nil {
			t.Fatal(err)
		}
		return replaced
	}
	cloud.Revoke()
	if old, issued := login(nil), login(issue("")); old != http.StatusUnauthorized || issued != http.StatusCreated {
		t.Errorf("once revoked, the sample's credentials are answered with %d, and those issued with %d", old, issued)
	}
	other := issue("other")
	if code := login(other); code != http.StatusCreated || other["demo"] != "other" {
		t.Errorf("those of another account are answered with %d: %v", code, other)
	}
	delete(other, "demo")
	if code := login(other); code != http.StatusUnauthorized {
		t.Errorf("they are let into the first account with %d", code)
	}
	cloud.Restore()
	if code := login(nil); code != http.StatusCreated {
		t.Errorf("once restored, the sample's credentials are answered with %d", code)
	}
	if _, err := cloud.Issue("nobody"); err == nil {
		t.Error("credentials of a project that is not there were issued")
	}
}

// TestPlantedLikeAnother: the copy has the properties of the other server under other names, and stays after
// the other's deletion.
func TestPlantedLikeAnother(t *testing.T) {
	cloud := nova.Administered{Cloud: nova.New(&double.Clock{}, nova.Options{Inventory: nova.Sample()})}
	id := cloud.Plant(nova.Planted{Name: "m-1", Metadata: map[string]string{"uid": "u-1", "cluster-c1": "1"}})
	if err := cloud.PlantLike(id, strings.NewReplacer("m-1", "m-2", "u-1", "u-2", "c1", "c2").Replace); err != nil {
		t.Fatal(err)
	}
	if err := cloud.Do("terminate", id); err != nil {
		t.Fatal(err)
	}
	all := cloud.Instances()
	if len(all) != 1 || all[0].Name != "m-2" || all[0].Tags["uid"] != "u-2" || all[0].Tags["cluster-c2"] != "1" || all[0].Account != "demo" {
		t.Errorf("%+v", all)
	}
	if err := cloud.PlantLike(id, strings.ToUpper); err == nil {
		t.Error("something was planted in the image of what is gone")
	}
}
