package bootstrap

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestRender(t *testing.T) {
	values := Values{Token: "abc123.0123456789abcdef", MachineName: "m+1"}
	tests := []struct {
		reason string
		in     string
		values Values
		want   string
		absent []string
		needs  bool
	}{
		{"all occurrences are replaced", "a <<BOOTSTRAP_TOKEN>> b <<BOOTSTRAP_TOKEN>> <<MACHINE_NAME>>", values, "a abc123.0123456789abcdef b abc123.0123456789abcdef m+1", nil, true},
		{"escaped places get escaped values", "%3C%3CBOOTSTRAP_TOKEN%3E%3E&n=%3C%3CMACHINE_NAME%3E%3E", values, "abc123.0123456789abcdef&n=m%2B1", nil, true},
		{"the escaped form counts only without the plain one", "<<MACHINE_NAME>> %3C%3CMACHINE_NAME%3E%3E", values, "m+1 %3C%3CMACHINE_NAME%3E%3E", []string{TokenPlaceholder}, false},
		{"what is absent is reported", "#!/bin/sh", values, "#!/bin/sh", []string{TokenPlaceholder, NamePlaceholder}, false},
		{"without a token its place is left alone", "<<BOOTSTRAP_TOKEN>> <<MACHINE_NAME>>", Values{MachineName: "m"}, "<<BOOTSTRAP_TOKEN>> m", nil, true},
		{"a value that looks like a placeholder is only text", "<<BOOTSTRAP_TOKEN>>", Values{Token: "<<BOOTSTRAP_TOKEN>>", MachineName: "m"}, "<<BOOTSTRAP_TOKEN>>", []string{NamePlaceholder}, true},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			in := []byte(tt.in)
			out, absent := Render(in, tt.values)
			if string(out) != tt.want || !cmp.Equal(absent, tt.absent) {
				t.Errorf("got %q, absent %q", out, absent)
			}
			if string(in) != tt.in {
				t.Error("the input was changed")
			}
			if NeedsToken(in) != tt.needs {
				t.Errorf("needs a token: %v", !tt.needs)
			}
		})
	}
}

func TestTokenIDIsStableAndSpread(t *testing.T) {
	if a, b := TokenID("u", 0), TokenID("u", 0); a != b || a == TokenID("u", 1) {
		t.Fatalf("ids %s %s %s", a, b, TokenID("u", 1))
	}
	seen := map[string]bool{}
	for i := range 2000 {
		id := TokenID(fmt.Sprintf("8b1c4e0e-0000-4000-8000-%012d", i), 0)
		if len(id) != 6 || strings.Trim(id, alphabet) != "" {
			t.Fatalf("id %q", id)
		}
		seen[id] = true
	}
	if len(seen) < 1999 { // two of 2000 collide with a chance of 1 in 1000
		t.Errorf("only %d of 2000 ids differ", len(seen))
	}
}

func TestNewSecret(t *testing.T) {
	a, err := NewSecret(rand.Reader)
	if err != nil || len(a) != 16 || strings.Trim(a, alphabet) != "" {
		t.Fatalf("got %q, %v", a, err)
	}
	biased := append(bytes.Repeat([]byte{255}, 16), bytes.Repeat([]byte{35}, 16)...)
	if s, err := NewSecret(bytes.NewReader(biased)); err != nil || s != strings.Repeat("z", 16) {
		t.Errorf("bytes beyond the last whole alphabet are to be thrown away, got %q, %v", s, err)
	}
	if _, err := NewSecret(bytes.NewReader(nil)); err == nil {
		t.Error("a dry source made a secret")
	}
}

func TestObjectAndRead(t *testing.T) {
	token := Token{
		ID: "abc123", Secret: "0123456789abcdef", Owner: Owner{Key: "ns/m", UID: "u"},
		Expires: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Groups: "system:bootstrappers:x",
	}
	s := token.Object()
	want := map[string]string{
		"description": "Bootstrap token of machine ns/m", "token-id": "abc123", "token-secret": "0123456789abcdef",
		"expiration": "2026-03-01T12:00:00Z", "usage-bootstrap-authentication": "true", "usage-bootstrap-signing": "true",
		"auth-extra-groups": "system:bootstrappers:x",
	}
	got := map[string]string{}
	for k, v := range s.Data {
		got[k] = string(v)
	}
	if d := cmp.Diff(want, got); d != "" || s.Namespace != "kube-system" || s.Name != "bootstrap-token-abc123" || s.Type != "bootstrap.kubernetes.io/token" {
		t.Errorf("%s/%s %s: %s", s.Namespace, s.Name, s.Type, d)
	}
	if back, err := Read(s); err != nil || back != token {
		t.Errorf("read %+v, %v", back, err)
	}
	spoil := map[string]func(*corev1.Secret){
		"type":       func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque },
		"token":      func(s *corev1.Secret) { s.Data["token-secret"] = []byte("short") },
		"name":       func(s *corev1.Secret) { s.Name = "bootstrap-token-xxxxxx" },
		"expiration": func(s *corev1.Secret) { s.Data["expiration"] = []byte("soon") },
	}
	for what, edit := range spoil {
		t.Run(what, func(t *testing.T) {
			bad := token.Object()
			edit(bad)
			if _, err := Read(bad); err == nil {
				t.Errorf("a wrong %s was read", what)
			}
		})
	}
}
