package vcenter

import (
	"bytes"
	"context"
	"net/http"
	"regexp"
	"sync"

	"github.com/vmware/govmomi/vapi/tags"
)

// foreignTags are tags that requests name by unknown IDs, in a vCenter that accepts anything. govmomi's simulator chooses IDs
// itself, so each such tag has another ID there, which callers never see.
type foreignTags struct {
	mu sync.Mutex
	// real are the simulator's IDs, by the callers' IDs.
	real map[string]string
}

var tagForm = regexp.MustCompile(`urn:vmomi:InventoryServiceTag:[0-9a-fA-F-]{36}:GLOBAL`)

// inward creates the tags that a request names, and returns the request and its body with the simulator's
// IDs.
func (f *foreignTags) inward(b *builder, r *http.Request, body []byte) (*http.Request, []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := func(id []byte) []byte { return []byte(f.known(b, string(id))) }
	r = r.Clone(r.Context())
	r.URL.Path = string(tagForm.ReplaceAllFunc([]byte(r.URL.Path), known))
	r.URL.RawPath = ""
	return r, tagForm.ReplaceAllFunc(body, known)
}

// known is the simulator's ID of a tag; the caller holds the lock.
func (f *foreignTags) known(b *builder, id string) string {
	if to, ok := f.real[id]; ok {
		return to
	}
	ctx, m := context.Background(), tags.NewManager(b.rest)
	if _, err := m.GetTag(ctx, id); err == nil {
		return id
	}
	const category = "accepted"
	if err := b.addTag(ctx, Tag{Category: category, Name: id}); err != nil {
		return id
	}
	made, err := m.GetTagForCategory(ctx, id, category)
	if err != nil {
		return id
	}
	if f.real == nil {
		f.real = map[string]string{}
	}
	f.real[id] = made.ID
	return made.ID
}

// outward is an answer with the callers' IDs.
func (f *foreignTags) outward(answer []byte) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, is := range f.real {
		answer = bytes.ReplaceAll(answer, []byte(is), []byte(id))
	}
	return answer
}
