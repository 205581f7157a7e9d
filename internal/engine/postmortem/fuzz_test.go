package postmortem

import (
	"bytes"
	"testing"
	"time"
)

func FuzzEncode(f *testing.F) {
	f.Add([]byte(`{"api":"a","namespace":"n","name":"m","uid":"u","summary":"token=hunter2hunter2","console":"-----BEGIN KEY-----"}`), []byte("hunter2hunter2"), 0)
	f.Add([]byte(`{"said":[{"about":"x","message":"s3cr3t-s3cr3t"}],"node":{"conditions":[{}],"taints":["a"]},"moments":[{}]}`), []byte("s3cr3t-s3cr3t"), 5000)
	f.Fuzz(func(t *testing.T, raw, secret []byte, limit int) {
		r, err := Decode(raw)
		if err != nil {
			return
		}
		at := time.Now()
		limit = max(SmallestLimit, limit%(64<<10))
		out, err := Encode(r, NewRedactor(secret), limit)
		if took := time.Since(at); took > 2*time.Second {
			t.Errorf("took %v", took)
		}
		if err != nil {
			return // a time that JSON has no form for
		}
		if len(out) > limit {
			t.Errorf("%d bytes, more than %d", len(out), limit)
		}
		back, err := Decode(out)
		if err != nil {
			t.Fatalf("cannot be read back: %v", err)
		}
		if len(secret) >= 12 && (bytes.Contains([]byte(back.Summary), secret) || bytes.Contains([]byte(back.Console), secret)) {
			t.Errorf("the secret %q is told", secret)
		}
	})
}
