package arm

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// The paths of the metadata service, and of the instances' console logs.
const (
	metadataPath = "/metadata/scheduledevents"
	consolePath  = "/console/"
)

// notice is the time between the notice to an instance and its eviction:
// https://learn.microsoft.com/azure/virtual-machines/linux/scheduled-events
const notice = 30 * time.Second

// metadata returns the events of all machines, because this simulator cannot tell which machine sent the request.
func metadata(c *Cloud, w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Metadata") != "true" {
		answer(w, http.StatusBadRequest, map[string]string{"error": "Bad request. Required metadata header not specified"})
		return
	}
	events := []map[string]any{}
	for _, m := range c.vms.All() {
		if m.evicted.IsZero() {
			continue
		}
		events = append(events, map[string]any{
			"EventId": fmt.Sprintf("E-%s", m.name), "EventType": "Preempt", "ResourceType": "VirtualMachine", "Resources": []string{m.name}, "EventStatus": "Scheduled",
			"NotBefore": m.evicted.UTC().Format(http.TimeFormat), "Description": "", "EventSource": "Platform", "DurationInSeconds": -1,
		})
	}
	answer(w, http.StatusOK, map[string]any{"DocumentIncarnation": len(events), "Events": events})
}

// bootDiagnostics is the URL of the serial console's log.
func (c machineCalls) bootDiagnostics() (string, *apiError) {
	m, ok := c.vms.Get(c.key())
	if !ok {
		return "", c.missing()
	}
	d := m.model.Properties.DiagnosticsProfile
	if d == nil || d.BootDiagnostics == nil || !deref(d.BootDiagnostics.Enabled) {
		return "", refuse(http.StatusConflict, "OperationNotAllowed", "Boot diagnostics is not enabled for VM '%s'.", m.name)
	}
	return "https://" + c.r.Host + consolePath + deref(m.model.Properties.VMID) + "/serialconsole.log?sig=double", nil
}

// serialLog is the console log of a machine.
func serialLog(c *Cloud, w http.ResponseWriter, r *http.Request) {
	for _, m := range c.vms.All() {
		if strings.Contains(r.URL.Path, deref(m.model.Properties.VMID)) && r.URL.Query().Get("sig") != "" {
			if strings.HasPrefix(r.Header.Get("Range"), "bytes=-") { // Blob storage supports no suffix ranges
				http.Error(w, "<?xml version=\"1.0\"?><Error><Code>InvalidHeaderValue</Code></Error>", http.StatusBadRequest)
				return
			}
			w.Header().Set("Content-Type", "application/octet-stream")
			http.ServeContent(w, r, "serialconsole.log", m.ready, strings.NewReader(m.log()))
			return
		}
	}
	http.Error(w, "<?xml version=\"1.0\"?><Error><Code>AuthenticationFailed</Code></Error>", http.StatusForbidden)
}

func (m *machine) log() string {
	return "[    0.000000] Linux version 6.1\n" + deref(m.model.Properties.OSProfile.ComputerName) + " login: \n"
}
