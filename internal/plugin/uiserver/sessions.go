package uiserver

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/millwright-dev/millwright/internal/plugin/ui"
)

const (
	// mostOfUser is how many sessions one user may have: one for each token and each namespace.
	mostOfUser = 4
	// mostOpen is how many requests of one session are served at a time. A page has one or two streams.
	mostOpen = 32
	// mostReviews is how many tokens of new sessions are checked at a time, reviewTime how long a check may take.
	mostReviews = 8
	reviewTime  = 15 * time.Second
	// startTime is how long the watches of a new session may take to begin.
	startTime = time.Minute
	// idleTime is how long a session without requests keeps its watches.
	idleTime = time.Minute
	// lookTime is the time between two looks at a session.
	lookTime = 10 * time.Second
	// uncheckedIntervals is how many intervals a session continues while the API server answers no check of its token.
	uncheckedIntervals = 5
)

// Limits of the requests of one session, per second and at once.
const (
	qps   = 50
	burst = 100
)

// key identifies a session. It has a hash of the token in place of the token.
type key struct {
	token     [sha256.Size]byte
	namespace string
}

// session is what one user sees of one namespace, with one token.
type session struct {
	key  key
	user string
	ctx  context.Context
	end  context.CancelCauseFunc
	// started is closed when data or err is set.
	started chan struct{}
	data    http.Handler
	page    *ui.Server
	err     error

	// Under the lock of sessions: open requests, and when the last one ended.
	open int
	used time.Time
}

// Reasons for the end of a session.
var (
	errInvalid   = refusal{http.StatusUnauthorized, "the API server does not accept the token: it may have expired"}
	errSlow      = errors.New("the API server has not listed the objects in time")
	errUnchecked = errors.New("the token could not be checked")
	errRights    = errors.New("the rights of the user have changed")
	errIdle      = errors.New("the page was closed")
	errStopping  = errors.New("the process stops")
)

// sessions are those of all users, by their keys.
type sessions struct {
	options Options
	reviews chan struct{}
	ctx     context.Context
	end     context.CancelCauseFunc
	log     logr.Logger

	mu  sync.Mutex
	all map[key]*session
}

func newSessions(ctx context.Context, o Options) *sessions {
	s := &sessions{options: o, reviews: make(chan struct{}, mostReviews), log: ctrl.Log.WithName("machine-ui"), all: map[key]*session{}}
	s.ctx, s.end = context.WithCancelCause(ctx)
	return s
}

func (s *sessions) close() { s.end(errStopping) }

func (s *sessions) clock() clock.Clock { return s.options.Clock }

// enter returns the session of a token and a namespace, and a function that the caller calls at the end of the request.
func (s *sessions) enter(ctx context.Context, token, namespace string) (*session, func(), error) {
	k := key{sha256.Sum256([]byte(token)), namespace}
	one, err := s.known(k)
	if one == nil && err == nil {
		var user string
		if user, err = s.review(ctx, token); err == nil {
			one, err = s.begin(k, user, token)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	leave := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		one.open--
		one.used = s.clock().Now()
	}
	select {
	case <-ctx.Done():
		err = ctx.Err()
	case <-one.started:
		err = one.err
	}
	if err != nil {
		leave()
		return nil, nil, err
	}
	return one, leave, nil
}

// known is the session with this key, with one more open request; nil if it does not exist.
func (s *sessions) known(k key) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened(s.all[k])
}

func (s *sessions) opened(one *session) (*session, error) {
	switch {
	case one == nil:
		return nil, nil
	case one.open >= mostOpen:
		return nil, refusal{http.StatusTooManyRequests, fmt.Sprintf("you have more than %d requests open: close a tab of the page", mostOpen)}
	}
	one.open++
	return one, nil
}

// begin starts a session of a user whose token was checked, and opens it.
func (s *sessions) begin(k key, user, token string) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.all[k]; one != nil {
		return s.opened(one)
	}
	if err := s.room(user); err != nil {
		return nil, err
	}
	one := &session{key: k, user: user, started: make(chan struct{})}
	one.ctx, one.end = context.WithCancelCause(s.ctx)
	s.all[k] = one
	go s.run(one, token)
	return s.opened(one)
}

// room ends a session that is not in use if there are too many. It returns an error if none can be ended.
func (s *sessions) room(user string) error {
	own, idle, idleOwn := 0, (*session)(nil), (*session)(nil)
	for _, one := range s.all {
		if one.user == user {
			own++
			idleOwn = longestIdle(idleOwn, one)
		}
		idle = longestIdle(idle, one)
	}
	switch {
	case own >= mostOfUser && idleOwn != nil:
		s.remove(idleOwn, errIdle)
	case own >= mostOfUser:
		return refusal{http.StatusTooManyRequests, fmt.Sprintf("you have the page open for %d namespaces or tokens: close one first", own)}
	case len(s.all) >= s.options.MaxSessions && idle != nil:
		s.remove(idle, errIdle)
	case len(s.all) >= s.options.MaxSessions:
		return refusal{http.StatusServiceUnavailable, fmt.Sprintf("%d users use the page, and no more are allowed: try again later", len(s.all))}
	}
	return nil
}

// inUse reports whether the session has an open request, or drains a node.
func (one *session) inUse() bool {
	if one.open > 0 {
		return true
	}
	select {
	case <-one.started:
		return one.page.Busy()
	default:
		return false
	}
}

// longestIdle is the one of two sessions that has been without requests for longer; nil if both have some.
func longestIdle(a, b *session) *session {
	if b.inUse() || a != nil && a.used.Before(b.used) {
		return a
	}
	return b
}

// remove ends a session. The caller holds the lock.
func (s *sessions) remove(one *session, why error) {
	if s.all[one.key] == one {
		delete(s.all, one.key)
	}
	one.end(why)
}

// run follows the fleet for a session until it ends.
func (s *sessions) run(one *session, token string) {
	log := s.log.WithValues("user", one.user, "namespace", one.key.namespace)
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.remove(one, errIdle)
	}()
	o := s.options.Options
	o.Namespace, o.User, o.Control = one.key.namespace, one.user, s.config(token)
	if one.page, one.err = s.start(one, o); one.err != nil {
		log.Info("the session of the user does not begin", "reason", one.err.Error())
		close(one.started)
		return
	}
	one.data = one.page.Data()
	close(one.started)
	log.Info("a session of the user begins")
	s.watch(one, token)
	log.Info("the session of the user ends", "reason", context.Cause(one.ctx).Error())
}

// start begins the watches of a session.
func (s *sessions) start(one *session, o ui.Options) (*ui.Server, error) {
	begun := make(chan struct{})
	defer close(begun)
	go func() {
		select {
		case <-s.clock().After(startTime):
			one.end(errSlow)
		case <-begun:
		}
	}()
	page, err := ui.New(one.ctx, o)
	if one.ctx.Err() != nil {
		err = context.Cause(one.ctx)
	}
	if err != nil {
		one.end(err)
	}
	return page, explained(err)
}

// watch ends the session when its token is not valid any more, when the rights of its user change, and when it is idle.
func (s *sessions) watch(one *session, token string) {
	checked := s.clock().Now()
	for next := checked.Add(s.options.CheckInterval); one.ctx.Err() == nil; {
		select {
		case <-one.ctx.Done():
			return
		case <-s.clock().After(min(lookTime, s.options.CheckInterval)):
		}
		now := s.clock().Now()
		if s.idle(one, now) {
			return
		}
		if now.Before(next) {
			continue
		}
		next = now.Add(s.options.CheckInterval)
		switch err := s.check(one, token); {
		case err == nil:
			checked = now
		case errors.Is(err, errInvalid), errors.Is(err, errRights):
			one.end(err)
		case now.Sub(checked) > uncheckedIntervals*s.options.CheckInterval:
			one.end(fmt.Errorf("%w: %w", errUnchecked, err))
		}
	}
}

// idle ends the session if it has had no request for a while and drains no node.
func (s *sessions) idle(one *session, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.inUse() || now.Sub(one.used) < idleTime {
		return false
	}
	s.remove(one, errIdle)
	return true
}

// check asks the API server whether the token still is the user's, and whether the rights are as before.
func (s *sessions) check(one *session, token string) error {
	ctx, end := context.WithTimeout(one.ctx, reviewTime)
	defer end()
	user, err := userOf(ctx, s.config(token))
	if err != nil {
		return err
	}
	if user != one.user {
		return errInvalid
	}
	switch outdated, err := one.page.Outdated(ctx); {
	case err != nil:
		return explained(err)
	case outdated:
		return errRights
	}
	return nil
}

// config is a connection to the API server as the user with this token.
func (s *sessions) config(token string) *rest.Config {
	c := rest.AnonymousClientConfig(s.options.Control)
	c.BearerToken, c.QPS, c.Burst = token, qps, burst
	return c
}
