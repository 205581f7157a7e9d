// Package double plays Larch's API, with the habits that hurt: listings have pages and run behind, names of machines are
// not unique, things take their time, and what was accepted may fail. It outlives the provider that is tested.
package double

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/millwright-dev/millwright/provider/providertest"
)

// How long machines take to run, and to go.
const (
	boots = 5 * time.Second
	goes  = 3 * time.Second
)

// Larch is the cloud.
type Larch struct {
	// PerPage is how many things are on a page, Lagging how far listings run behind.
	PerPage int
	Lagging time.Duration

	now func() time.Time

	mu       sync.Mutex
	skipped  time.Duration
	accounts map[string]string // by token
	machines []*thing
	disks    []*thing
	faults   map[string]providertest.Fault // by call: "GET machines"
}

// New is a Larch with one account, which opens to the token "secret".
func New(now func() time.Time) *Larch {
	return &Larch{PerPage: 50, now: now, accounts: map[string]string{"secret": "account-1"}, faults: map[string]providertest.Fault{}}
}

// thing is a machine or a disk. What it looks like follows from the time: who reads with a lag sees an earlier one.
type thing struct {
	ID      string            `json:"id"`
	Name    string            `json:"name"`
	Type    string            `json:"type,omitempty"`
	Zone    string            `json:"zone"`
	Image   string            `json:"image,omitempty"`
	Tags    map[string]string `json:"tags"`
	Created time.Time         `json:"created"`

	State     string `json:"state,omitempty"`
	Address   string `json:"address,omitempty"`
	Operation string `json:"operation,omitempty"`
	Disk      string `json:"disk,omitempty"`
	Machine   string `json:"machine,omitempty"`

	account        string
	failed, ended  time.Time
	booting, going time.Duration // 0 for disks
	with           *thing        // a disk's machine
}

// at is what the thing looked like; false while it is not there.
func (t *thing) at(when time.Time) (thing, bool) {
	now := *t
	if t.with != nil {
		if _, there := t.with.at(when); there {
			now.Machine = t.with.ID
		} else if !when.Before(t.with.Created) {
			return now, false // it went with the machine
		}
	}
	after := func(moment time.Time) bool { return !moment.IsZero() && !when.Before(moment) }
	switch {
	case !after(t.Created), after(t.ended) && after(t.ended.Add(t.going)):
		return now, false
	case after(t.ended):
		now.State = "deleting"
	case after(t.failed):
		now.State = "error"
	case !after(t.Created.Add(t.booting)):
		now.State = "creating"
	default:
		now.State = "running"
	}
	return now, true
}

func (l *Larch) time() time.Time { return l.now().Add(l.skipped) }

// ServeHTTP answers one call.
func (l *Larch) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in thing
	_ = json.NewDecoder(r.Body).Decode(&in) // reads ask with null
	what, id, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/"), "/")
	call := r.Method + " " + what

	l.mu.Lock()
	f := l.faults[call]
	if f.Partial > 0 && r.URL.Query().Get("page") == "0" {
		f = providertest.Fault{} // a page comes, and then the fault
	} else {
		delete(l.faults, call)
	}
	status, answer := refuse(http.StatusUnauthorized, "token", "the token is not valid")
	account, known := l.accounts[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	if known && (f.Done || f.Kind == "" && !f.Stall) {
		status, answer = l.do(call, account, id, in, r)
	}
	l.skipped += f.Slow
	l.mu.Unlock()

	switch {
	case f.Stall:
		<-r.Context().Done()
		return
	case f.Done && f.Kind != "":
		panic(http.ErrAbortHandler) // the connection is cut
	case f.Kind != "":
		w.Header().Set("Retry-After", strconv.Itoa(int(f.After.Seconds())))
		status, answer = words(f)
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

func refuse(status int, code, message string) (int, any) {
	return status, map[string]string{"code": code, "message": message}
}

func (l *Larch) do(call, account, id string, in thing, r *http.Request) (int, any) {
	in.account, in.Created, in.ID = account, l.time(), ""
	switch call {
	case "GET account":
		return http.StatusOK, map[string]string{"id": account}
	case "POST disks":
		return l.makeDisk(&in)
	case "POST machines":
		return l.makeMachine(&in)
	case "GET operations":
		if m := find(l.machines, account, strings.TrimPrefix(id, "op-"), l.time()); m != nil {
			_, why := refuse(0, "zone_full", "there was no room after all")
			return http.StatusOK, map[string]any{"id": id, "error": why}
		}
	case "GET machines", "GET disks", "DELETE machines", "DELETE disks":
		all := l.machines
		if strings.HasSuffix(call, "disks") {
			all = l.disks
		}
		t := find(all, account, id, l.time())
		switch {
		case id == "":
			return l.list(all, account, r)
		case t == nil:
		case r.Method == http.MethodGet:
			now, _ := t.at(l.time())
			return http.StatusOK, now
		case t.with != nil:
			return refuse(http.StatusConflict, "in_use", "the disk is a machine's")
		default:
			if t.ended.IsZero() {
				t.ended = l.time()
			}
			return http.StatusAccepted, map[string]string{"operation": "op-" + id}
		}
	}
	return refuse(http.StatusNotFound, "not_found", "there is no "+r.URL.Path)
}

func find(all []*thing, account, id string, now time.Time) *thing {
	for _, t := range all {
		if _, there := t.at(now); there && t.ID == id && t.account == account {
			return t
		}
	}
	return nil
}

func (l *Larch) makeDisk(d *thing) (int, any) {
	for _, other := range l.disks {
		if _, there := other.at(l.time()); there && other.account == d.account && other.Name == d.Name {
			return http.StatusConflict, map[string]string{"code": "name_taken", "id": other.ID, "message": "another disk has that name"}
		}
	}
	return l.addDisk(d)
}

func (l *Larch) addDisk(d *thing) (int, any) {
	d.ID = fmt.Sprintf("d-%06d", len(l.disks)+1)
	l.disks = append(l.disks, d)
	return http.StatusAccepted, *d
}

func (l *Larch) makeMachine(m *thing) (int, any) {
	d := find(l.disks, m.account, m.Disk, l.time())
	switch {
	case d == nil || d.Zone != m.Zone:
		return refuse(http.StatusNotFound, "not_found", "there is no such disk in the zone")
	case d.with != nil:
		return refuse(http.StatusConflict, "in_use", "the disk is a machine's")
	}
	d.with = l.addMachine(m)
	now, _ := m.at(l.time())
	return http.StatusAccepted, now
}

func (l *Larch) addMachine(m *thing) *thing {
	n := len(l.machines) + 1
	m.ID, m.Address = fmt.Sprintf("m-%06d", n), fmt.Sprintf("192.0.2.%d", n%250+1)
	m.Operation, m.booting, m.going = "op-"+m.ID, boots, goes
	l.machines = append(l.machines, m)
	return m
}

func (l *Larch) list(all []*thing, account string, r *http.Request) (int, any) {
	items := []thing{}
	for _, t := range all {
		now, there := t.at(l.time().Add(-l.Lagging))
		if there && now.account == account && now.matches(r) {
			items = append(items, now)
		}
	}
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	pages := slices.Collect(slices.Chunk(items, l.PerPage))
	answer := map[string]any{"items": []thing{}}
	if page < len(pages) {
		answer["items"] = pages[page]
	}
	if page+1 < len(pages) {
		answer["next"] = strconv.Itoa(page + 1)
	}
	return http.StatusOK, answer
}

func (t thing) matches(r *http.Request) bool {
	for key := range maps.Keys(r.URL.Query()) {
		tag, isTag := strings.CutPrefix(key, "tag.")
		value := r.URL.Query().Get(key)
		if isTag && t.Tags[tag] != value || key == "name" && t.Name != value {
			return false
		}
	}
	return true
}
