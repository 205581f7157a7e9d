package cloud_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/yandex"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/yandex/cloud"
)

// TestCauses: what Compute Cloud refuses is read as its cause, and names the field of the spec.
func TestCauses(t *testing.T) {
	for _, r := range []struct{ patch, field, text string }{
		{`{"bootDiskSpec":{"imageID":"fd8none"}}`, "bootDiskSpec.imageID", "Image fd8none not found"},
		{`{"bootDiskSpec":{"typeID":"tape"}}`, "bootDiskSpec.typeID", `Disk type "tape" not found`},
		{`{"bootDiskSpec":{"size":1048576}}`, "bootDiskSpec.size", "minimum disk size"},
		{`{"zoneID":"ru-central1-z"}`, "zoneID", "Zone ru-central1-z not found"},
		{`{"zoneID":"ru-central1-b"}`, "networkInterfaceSpecs", "not in zone"},
		{`{"platformID":"none"}`, "platformID", `Platform "none" not found`},
		{`{"resourcesSpec":{"cores":3}}`, "resourcesSpec.cores", "number of cores"},
		{`{"resourcesSpec":{"memory":1}}`, "resourcesSpec.memory", "amount of memory"},
		{`{"resourcesSpec":{"coreFraction":7}}`, "resourcesSpec.coreFraction", "core fraction"},
		{`{"resourcesSpec":{"gpus":1}}`, "resourcesSpec.gpus", "number of GPUs"},
		{`{"networkInterfaceSpecs":[{"subnetID":"e9bnone"}]}`, "networkInterfaceSpecs", "Subnet e9bnone not found"},
	} {
		t.Run(r.patch, func(t *testing.T) {
			w := newWorld(t)
			_, err := w.open(t, patched(t, w.class("c1"), r.patch)).Create(t.Context(), refOf("worker-1"), want)
			if e := (&provider.Error{}); provider.KindOf(err) != provider.Invalid || !strings.Contains(err.Error(), r.text) || !as(err, &e) || e.Field != r.field {
				t.Errorf("%s: %v (field %q), want %q of %s", provider.KindOf(err), err, e.Field, r.text, r.field)
			}
		})
	}
}

// TestQuotas: quotas of the cloud are the account's, and too many operations in progress pass soon.
func TestQuotas(t *testing.T) {
	for _, r := range []struct {
		quotas yandex.Quotas
		kind   provider.Kind
		scope  provider.Scope
		text   string
	}{
		{yandex.Quotas{Instances: 1}, provider.Exhausted, provider.ScopeAccount, "number of instances"},
		{yandex.Quotas{Cores: 3}, provider.Exhausted, provider.ScopeAccount, "number of cores"},
		{yandex.Quotas{Operations: 1}, provider.Throttled, "", "active operations"},
	} {
		w := newWorld(t, func(o *yandex.Options) { o.Inventory.Quotas = r.quotas })
		s := w.open(t, w.class("c1"))
		if _, err := s.Create(t.Context(), refOf("worker-1"), want); err != nil {
			t.Fatal(err)
		}
		_, err := s.Create(t.Context(), refOf("worker-2"), want)
		if provider.KindOf(err) != r.kind || r.scope != "" && provider.ScopeOf(err) != r.scope || !strings.Contains(err.Error(), r.text) {
			t.Errorf("%+v: %s (%s): %v", r.quotas, provider.KindOf(err), provider.ScopeOf(err), err)
		}
	}
}

// TestCredentials: missing and wrong credentials are Denied, quote no key, and never mean that nothing exists.
func TestCredentials(t *testing.T) {
	w := newWorld(t)
	changed := func(change func(map[string]any)) []byte {
		key := map[string]any{}
		if err := json.Unmarshal(w.key, &key); err != nil {
			t.Fatal(err)
		}
		change(key)
		raw, err := json.Marshal(key)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	set := func(name string, value any) []byte { return changed(func(k map[string]any) { k[name] = value }) }
	folder := []byte(yandex.SampleFolder)
	for _, r := range []struct {
		reason string
		secret map[string][]byte
		text   string
	}{
		{"no secret", nil, "no folderID"},
		{"no key", map[string][]byte{"folderID": folder}, "no serviceAccountJSON"},
		{"no JSON", map[string][]byte{"folderID": folder, "serviceAccountJSON": []byte("BEGIN")}, "no JSON"},
		{"no account", map[string][]byte{"folderID": folder, "serviceAccountJSON": set("service_account_id", "")}, "service_account_id"},
		{"the key of a user", map[string][]byte{"folderID": folder, "serviceAccountJSON": changed(func(k map[string]any) {
			delete(k, "service_account_id")
			k["user_account_id"] = "u"
		})}, "user account"},
		{"no ID", map[string][]byte{"folderID": folder, "serviceAccountJSON": set("id", "")}, "has no id"},
		{"no PEM", map[string][]byte{"folderID": folder, "serviceAccountJSON": set("private_key", "BEGIN")}, "PEM"},
		{"another PEM", map[string][]byte{"folderID": folder, "serviceAccountJSON": set("private_key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")}, "no RSA key"},
		{"an unknown key", map[string][]byte{"folderID": folder, "serviceAccountJSON": set("id", "ajeother")}, "Unauthenticated"},
		{"an unknown account", map[string][]byte{"folderID": folder, "serviceAccountJSON": set("service_account_id", "ajeother")}, "Unauthenticated"},
		{"another folder", map[string][]byte{"folderID": []byte("b1gother"), "serviceAccountJSON": w.key}, "PermissionDenied"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			class := w.class("c1")
			class.Credentials = r.secret
			_, err := w.open(t, class).Find(t.Context(), refOf("worker-1"))
			if provider.KindOf(err) != provider.Denied || !strings.Contains(err.Error(), r.text) || strings.Contains(err.Error(), "BEGIN") {
				t.Errorf("%v, want Denied with %q", err, r.text)
			}
		})
	}
	var key map[string]string
	if err := json.Unmarshal(w.key, &key); err != nil {
		t.Fatal(err)
	}
	rest, err := json.Marshal(map[string]string{"id": key["id"], "serviceAccountId": key["service_account_id"], "privateKey": key["private_key"]})
	if err != nil {
		t.Fatal(err)
	}
	class := w.class("c1")
	class.Credentials = map[string][]byte{"folderID": []byte(yandex.SampleFolder + "\n"), "serviceAccountJSON": rest}
	if _, err := w.open(t, class).Find(t.Context(), refOf("worker-1")); err != nil {
		t.Errorf("with the names of the REST API: %v", err)
	}
}

// TestTokens: a token is used for an hour, and one that was revoked is replaced at once.
func TestTokens(t *testing.T) {
	w := newWorld(t)
	s := w.open(t, w.class("c1"))
	for n, pass := range []time.Duration{0, 59 * minute, 2 * minute, 59 * minute} {
		w.clock.Advance(pass)
		if _, err := s.Find(t.Context(), refOf("worker-1")); err != nil || w.server.Counts()["IamToken.Create"] != 1+n/2 {
			t.Errorf("search %d: %v, %v", n, err, w.server.Counts())
		}
	}
	w.ForgetTokens()
	if _, err := s.Find(t.Context(), refOf("worker-1")); err != nil {
		t.Errorf("with a revoked token: %v", err)
	}
}

// TestAnswersOfAnotherServer: a page of a proxy never means that nothing exists.
func TestAnswersOfAnotherServer(t *testing.T) {
	w := newWorld(t)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }))
	defer page.Close()
	garbage := w.open(t, w.class("c1"))
	w.server.Inject(double.Fault{Failure: double.Failure{Kind: "Garbage"}, Operation: "Instance.*"})
	other, err := cloud.New(cloud.Options{Clock: w.clock, Endpoint: page.URL}).Open(t.Context(), w.class("c1"))
	if err != nil {
		t.Fatal(err)
	}
	for reason, s := range map[string]provider.Session{"a page instead of an answer": garbage, "another server": other} {
		if all, err := s.Find(t.Context(), refOf("worker-1")); provider.KindOf(err) != provider.Transient || all != nil {
			t.Errorf("%s: find: %v, %v", reason, all, err)
		}
		for _, err := range s.List(t.Context()) {
			if provider.KindOf(err) != provider.Transient {
				t.Errorf("%s: list: %v", reason, err)
			}
		}
		if done, err := s.Delete(t.Context(), refOf("worker-1"), nil); done || provider.KindOf(err) != provider.Transient {
			t.Errorf("%s: delete: %t, %v", reason, done, err)
		}
	}
}

// TestUserData: the metadata of Compute Cloud is text of a limited length.
func TestUserData(t *testing.T) {
	w := newWorld(t)
	s := w.open(t, w.class("c1"))
	for reason, data := range map[string][]byte{"too long": make([]byte, 256<<10+1), "no text": {0xff, 0xfe}} {
		bad := want
		bad.UserData = data
		if _, err := s.Create(t.Context(), refOf("worker-1"), bad); provider.KindOf(err) != provider.Invalid || len(w.requests()) > 0 {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

// TestStrangers: a simulator that accepts any name also accepts the keys and folders of other manifests, until all are revoked.
func TestStrangers(t *testing.T) {
	w, class := newWorld(t, func(o *yandex.Options) { o.AcceptAny = true }), newWorld(t).class("c1")
	class.Credentials["folderID"] = []byte("b1gelsewhere00000001")
	s := w.open(t, with(class, "fd8example0000000001", "fd8other000000000001"))
	if i := w.created(t, s, refOf("worker-1")); i.State != provider.Running || w.Instances()[0].Account != "b1gelsewhere00000001" {
		t.Errorf("%+v", i)
	}
	w.Revoke()
	if _, err := s.Find(t.Context(), refOf("worker-1")); provider.KindOf(err) != provider.Denied {
		t.Errorf("after the revocation: %v", err)
	}
}
