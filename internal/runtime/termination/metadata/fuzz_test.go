package metadata

import (
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/interruption"
)

func FuzzAWS(f *testing.F) {
	for _, body := range []string{
		"", "2026-11-22T12:00:00Z", `{"action":"terminate","time":"2026-11-22T12:00:00Z"}`, `{"noticeTime":"2026-11-22T12:00:00Z"}`,
		`[{"NotBefore":"21 Jan 2026 09:00:43 GMT","Code":"system-reboot","EventId":"i","State":"active"}]`, "null", "[]", "0000-00-00",
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		for name, read := range map[string]func(string) ([]interruption.Notice, error){
			"termination-time": awsTerminationTime, "instance-action": awsInstanceAction, "rebalance": awsRebalanceNotice, "scheduled": awsScheduledEvents,
		} {
			at := time.Now()
			notices, err := read(body)
			if took := time.Since(at); took > 2*time.Second {
				t.Errorf("%s: took %v", name, took)
			}
			if err != nil && len(notices) > 0 {
				t.Errorf("%s: %d notices with an error: %v", name, len(notices), err)
			}
			if len(notices) > 1+len(body) {
				t.Errorf("%s: %d notices of %d bytes", name, len(notices), len(body))
			}
		}
		_ = isToken(body)
	})
}
