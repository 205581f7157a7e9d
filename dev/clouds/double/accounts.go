package double

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
)

// Account is an account of a cloud. It has a simulator of its own.
type Account struct {
	// Name is the prefix of IDs in accounts other than the first.
	Name  string
	Cloud Cloud
}

// Accounts is a [Cloud] with several accounts, which share nothing.
type Accounts struct {
	all []Account
	// of returns the name of the account that a request is for.
	of func(r *http.Request, body []byte) string
}

var (
	_ Cloud     = &Accounts{}
	_ Host      = &Accounts{}
	_ Inspected = &Accounts{}
	_ Lender    = &Accounts{}
	_ Planter   = &Accounts{}
)

// NewAccounts joins accounts. of returns the name of a request's account; the first account is the default.
func NewAccounts(of func(r *http.Request, body []byte) string, all ...Account) *Accounts {
	return &Accounts{all: all, of: of}
}

func (a *Accounts) meant(r *http.Request, body []byte) Cloud { return a.named(a.of(r, body)).Cloud }

func (a *Accounts) named(name string) Account {
	for _, account := range a.all {
		if account.Name == name {
			return account
		}
	}
	return a.all[0]
}

// Operation implements [Cloud].
func (a *Accounts) Operation(r *http.Request, body []byte) (name string, writes bool) {
	return a.meant(r, body).Operation(r, body)
}

// Serve implements [Cloud].
func (a *Accounts) Serve(w http.ResponseWriter, r *http.Request, body []byte) {
	a.meant(r, body).Serve(w, r, body)
}

// Fail implements [Cloud].
func (a *Accounts) Fail(w http.ResponseWriter, r *http.Request, f Failure) {
	body, _ := io.ReadAll(r.Body) // the body is in memory
	r.Body = io.NopCloser(bytes.NewReader(body))
	a.meant(r, body).Fail(w, r, f)
}

// each calls do for each account with a console. prefix is the prefix of its IDs.
func (a *Accounts) each(do func(name, prefix string, cloud Inspected)) {
	for n, account := range a.all {
		if cloud, ok := account.Cloud.(Inspected); ok {
			prefix := ""
			if n > 0 {
				prefix = account.Name + "/"
			}
			do(account.Name, prefix, cloud)
		}
	}
}

// Guests implements [Host].
func (a *Accounts) Guests() (all []Guest) {
	a.each(func(_, prefix string, cloud Inspected) {
		host, ok := cloud.(Host)
		if !ok {
			return
		}
		for _, g := range host.Guests() {
			g.ID = prefix + g.ID
			all = append(all, g)
		}
	})
	return all
}

// Instances implements [Inspected].
func (a *Accounts) Instances() (all []Listed) {
	a.each(func(name, prefix string, cloud Inspected) {
		for _, i := range cloud.Instances() {
			i.ID, i.Account = prefix+i.ID, name
			all = append(all, i)
		}
	})
	return all
}

// Orphans implements [Inspected].
func (a *Accounts) Orphans() (all []string) {
	a.each(func(_, prefix string, cloud Inspected) {
		for _, o := range cloud.Orphans() {
			all = append(all, prefix+o)
		}
	})
	return all
}

// Exhausted implements [Exhaustible].
func (a *Accounts) Exhausted() (all []string) {
	a.each(func(_, prefix string, cloud Inspected) {
		if e, ok := cloud.(Exhaustible); ok {
			for _, place := range e.Exhausted() {
				all = append(all, prefix+place)
			}
		}
	})
	return all
}

// Verbs implements [Inspected].
func (a *Accounts) Verbs() []Verb {
	cloud, ok := a.all[0].Cloud.(Inspected)
	if !ok {
		return nil
	}
	return cloud.Verbs()
}

// Do implements [Inspected]: in the account whose name and a slash are the prefix of on, else in the first.
func (a *Accounts) Do(verb, on string) error {
	account, on := a.owner(on)
	cloud, ok := account.Cloud.(Inspected)
	if !ok {
		return errNoConsole
	}
	return cloud.Do(verb, on)
}

// owner returns the account of an instance, and the instance's ID in that account.
func (a *Accounts) owner(id string) (Account, string) {
	for _, account := range a.all[1:] {
		if rest, ok := strings.CutPrefix(id, account.Name+"/"); ok {
			return account, rest
		}
	}
	return a.all[0], id
}

// Revoke implements [Lender], for the first account.
func (a *Accounts) Revoke() {
	if lender, ok := a.all[0].Cloud.(Lender); ok {
		lender.Revoke()
	}
}

// Restore implements [Lender], for the first account.
func (a *Accounts) Restore() {
	if lender, ok := a.all[0].Cloud.(Lender); ok {
		lender.Restore()
	}
}

var errNoAccount = errors.New("the cloud has no account of that name")

// Issue implements [Lender], for any of the accounts.
func (a *Accounts) Issue(account string) (map[string]string, error) {
	it := a.all[0]
	if account != "" {
		if it = a.named(account); it.Name != account {
			return nil, errNoAccount
		}
	}
	lender, ok := it.Cloud.(Lender)
	if !ok {
		return nil, errNoLender
	}
	return lender.Issue("")
}

// PlantLike implements [Planter], in the account of the other instance.
func (a *Accounts) PlantLike(id string, rename func(string) string) error {
	account, id := a.owner(id)
	planter, ok := account.Cloud.(Planter)
	if !ok {
		return errors.New("this simulator cannot plant instances")
	}
	return planter.PlantLike(id, rename)
}
