package postmortem_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

func TestLooksLikeASecret(t *testing.T) {
	for _, test := range []struct {
		name, text, want, reason string
	}{
		{"bootstrap token", "kubeadm join with abc123.0123456789abcdef now", "kubeadm join with *** now", "it lets anybody join"},
		{"web token", "got eyJhbGciOi.eyJzdWIiOi.c2ln", "got ***", "service account tokens are signed web tokens"},
		{"password", "login with password=hunter2 failed", "login with password=*** failed", "settings say it by their name"},
		{"quoted", `{"apiKey": "a b\" c", "zone": "a"}`, `{"apiKey": ***, "zone": "a"}`, "the whole of a quoted value goes"},
		{"prefix of a name", "OS_PASSWORD: x, AWS_SECRET_ACCESS_KEY=y", "OS_PASSWORD: ***, AWS_SECRET_ACCESS_KEY=***", "the word may be the end of a longer one"},
		{"user data", "userData: I2Nsb3VkLWNvbmZpZw==", "userData: ***", "user data carry tokens"},
		{"flag", "kubelet --discovery-token abc --node-ip 10.0.0.1", "kubelet --discovery-token *** --node-ip 10.0.0.1", "a value may follow its flag"},
		{"address", "fetch https://me:pw@host/path", "fetch https://***@host/path", "names and passwords in addresses"},
		{"header", "sent Authorization: Bearer abcdefghijklmnop1", "sent Authorization: *** ***", "headers"},
		{"access key", "as AKIAIOSFODNN7EXAMPLE in eu", "as *** in eu", "key IDs of an infrastructure"},
		{"private key", "wrote -----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY----- to disk", "wrote *** to disk", "keys"},
		{"key cut off", "wrote -----BEGIN EC PRIVATE KEY-----\nMHcCAQ", "wrote ***", "the end of the console may cut a key"},
		{"key begun before", "MHcCAQEE\nIF0\n-----END EC PRIVATE KEY-----\nok", "***\nok", "so may its beginning"},
		{"blob", "echo " + strings.Repeat("QUJD", 30) + " | base64 -d", "echo *** | base64 -d", "user data in base64"},

		{"path of a secret", "spec.credentialsSecret.name: read secret ns/cloud: not found", "spec.credentialsSecret.name: read secret ns/cloud: not found", "the name of a secret is what helps"},
		{"drain", "1 pod has to leave: web/a (disruption budget web/b has no room)", "1 pod has to leave: web/a (disruption budget web/b has no room)", "nothing is taken out of what is harmless"},
		{"provider ID", "azure:///subscriptions/0-1/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/vm-1", "azure:///subscriptions/0-1/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/vm-1", "nor out of paths"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := postmortem.NewRedactor().Text(test.text); got != test.want {
				t.Errorf("%s:\n got %q\nwant %q", test.reason, got, test.want)
			}
		})
	}
}

func TestKnownSecrets(t *testing.T) {
	r := postmortem.NewRedactor([]byte("first line of a key\nsecond line of a key"), []byte("open sesame\n"), []byte("eu1"), []byte("say token=friend and enter"), []byte("://***@host"))
	for text, want := range map[string]string{
		"said open sesame":                "said ***",
		"said b3BlbiBzZXNhbWU= and":       "said *** and",
		"GET /?q=open+sesame":             "GET /?q=***",
		"GET /open%20sesame":              "GET /***",
		"echo second line of a key":       "echo ***",
		`"first line of a key\nsecond li`: `"***\nsecond li`,
		"zone eu1 is full":                "zone eu1 is full",
		// What is known goes before what is recognised, of which parts would be left,
		"say token=friend and enter": "***",
		// and once more, where that has made it.
		"https://me:pw@host": "https***",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// TestNoSecretAppears: for any secrets, at any place and in any spelling, none is in the record.
func TestNoSecretAppears(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(rapid.StringMatching(`[a-zA-Z0-9+*"\\ äö&/=-]{8,40}`), 1, 5).Draw(t, "secrets")
		values := make([][]byte, len(secrets))
		for i, s := range secrets {
			values[i] = []byte(s)
		}
		text := func(name string) string {
			out := ""
			for range rapid.IntRange(0, 4).Draw(t, name+" parts") {
				s := rapid.SampledFrom(secrets).Draw(t, name)
				quoted, err := json.Marshal(s)
				if err != nil {
					t.Fatal(err)
				}
				out += rapid.SampledFrom([]string{
					s, url.QueryEscape(s), base64.StdEncoding.EncodeToString([]byte(s)), string(quoted), s[:len(s)/2], "a", "\n", "***",
				}).Draw(t, name+" spelling")
			}
			return out
		}
		r := postmortem.Record{
			API: "machine.test", Namespace: "blue", Name: "m", UID: "u", Cause: postmortem.GivenUp,
			Phase: text("phase"), Summary: text("summary"), Console: text("console"), Gaps: []string{text("gap")},
			Said:     []postmortem.Statement{{About: text("about"), Reason: text("reason"), Message: text("message")}},
			Instance: &postmortem.Instance{ProviderID: text("id"), State: text("state"), Addresses: []string{text("address")}},
			Node:     &postmortem.Node{Name: text("node"), Conditions: []postmortem.Statement{{Message: text("condition")}}, Taints: []string{text("taint")}},
			Requests: []postmortem.Request{{Name: text("request"), Message: text("verdict")}},
			Events:   []postmortem.Event{{Message: text("event")}},
			Moments:  []postmortem.Moment{{What: text("moment")}},
		}
		raw, err := postmortem.Encode(r, postmortem.NewRedactor(values...), 8<<10)
		if err != nil {
			t.Fatal(err)
		}
		got, err := postmortem.Decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		for _, kept := range texts(got) {
			for _, s := range secrets {
				quoted, _ := json.Marshal(s)
				for _, spelled := range []string{s, url.QueryEscape(s), base64.StdEncoding.EncodeToString([]byte(s)), string(quoted[1 : len(quoted)-1])} {
					if strings.Contains(kept, spelled) {
						t.Fatalf("%q appears as %q in %q", s, spelled, kept)
					}
				}
			}
		}
	})
}

// texts are all free texts of a record.
func texts(r postmortem.Record) []string {
	out := []string{r.Phase, r.Summary, r.Console, r.Instance.ProviderID, r.Instance.State, r.Node.Name, r.Node.Conditions[0].Message}
	out = append(out, r.Gaps...)
	out = append(out, r.Said[0].About, r.Said[0].Reason, r.Said[0].Message, r.Events[0].Message, r.Moments[0].What)
	out = append(out, r.Requests[0].Name, r.Requests[0].Message)
	return append(append(out, r.Node.Taints...), r.Instance.Addresses...)
}
