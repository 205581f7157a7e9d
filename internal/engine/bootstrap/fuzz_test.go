package bootstrap_test

import (
	"bytes"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/bootstrap"
)

func FuzzRender(f *testing.F) {
	f.Add([]byte("#!/bin/sh\njoin <<BOOTSTRAP_TOKEN>> <<MACHINE_NAME>>"), "abcdef.0123456789abcdef", "m")
	f.Add([]byte("%3C%3CBOOTSTRAP_TOKEN%3E%3E"), "a.b", "%3C%3CMACHINE_NAME%3E%3E")
	f.Add([]byte("<<BOOTSTRAP_<<BOOTSTRAP_TOKEN>>TOKEN>>"), "", "<<BOOTSTRAP_TOKEN>>")
	f.Fuzz(func(t *testing.T, data []byte, token, name string) {
		before := bytes.Clone(data)
		at := time.Now()
		out, absent := bootstrap.Render(data, bootstrap.Values{Token: token, MachineName: name})
		if took := time.Since(at); took > 2*time.Second {
			t.Errorf("took %v", took)
		}
		if !bytes.Equal(before, data) {
			t.Error("the boot data was changed in place")
		}
		// Each placeholder has 16 bytes or more; an escaped value three for each.
		if most := len(data) + (1+len(data)/16)*(1+3*max(len(token), 0)); len(out) > most*(1+3*len(name)) {
			t.Errorf("%d bytes become %d", len(data), len(out))
		}
		if token != "" && !bootstrap.NeedsToken(data) && len(absent) == 0 {
			t.Error("a token was put where there is no place for one")
		}
	})
}

func FuzzReadToken(f *testing.F) {
	f.Add("bootstrap-token-abcdef", []byte("abcdef"), []byte("0123456789abcdef"), []byte("2026-11-22T12:00:00Z"))
	f.Fuzz(func(t *testing.T, name string, id, secret, expires []byte) {
		s := &corev1.Secret{Data: map[string][]byte{"token-id": id, "token-secret": secret, "expiration": expires}}
		s.Name = name
		token, err := bootstrap.Read(s)
		if err != nil {
			return
		}
		if again, err := bootstrap.Read(token.Object()); err != nil || again.ID != token.ID || again.Secret != token.Secret || !again.Expires.Equal(token.Expires) {
			t.Errorf("%v is read back as %v, %v", token, again, err)
		}
	})
}
