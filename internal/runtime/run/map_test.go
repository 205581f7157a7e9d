package run

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/provider"
)

// TestMapOfProcesses holds docs/contributing/processes.md to the leases and to the defaults of the flags.
func TestMapOfProcesses(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/contributing/processes.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	var f Flags
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.AddFlags(fs, Place{Port: 1})
	one, _ := apis.Of(provider.OpenShift)
	other, _ := apis.Of(provider.Gardener)
	short := func(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) + "s" }
	for what, text := range map[string]string{
		"the lease of OpenShift sets":     "`" + one.SetLease() + "`",
		"the lease of Gardener sets":      "`" + other.SetLease() + "`",
		"the lease of OpenShift machines": "`" + one.MachineLease("<provider>") + "`",
		"the lease of Gardener machines":  "`" + other.MachineLease("") + "`",
		"the lease's duration":            "`--leader-elect-lease-duration` (" + short(f.Election.LeaseDuration) + ")",
		"the renew deadline":              "`--leader-elect-renew-deadline` (" + short(f.Election.RenewDeadline) + ")",
		"the retry period":                "`--leader-elect-retry-period` (" + short(f.Election.RetryPeriod) + ")",
		"the address of metrics":          "`" + f.listening.address + ":",
	} {
		if !strings.Contains(page, text) {
			t.Errorf("%s is %s, and the page does not say so", what, text)
		}
	}
	some := []string{"controllers", "webhook-enabled", "webhook-port", "bind-address"} // of one program only
	for _, found := range regexp.MustCompile(`--([a-z][a-z-]*)`).FindAllStringSubmatch(page, -1) {
		if name := found[1]; fs.Lookup(name) == nil && !slices.Contains(some, name) {
			t.Errorf("the page names the flag --%s, which no controller process has", name)
		}
	}
}
