package ui

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/millwright-dev/millwright/internal/plugin/ui/changes"
)

// planTime limits how long a plan, or an action, may take.
const planTime = time.Minute

// planner plans and makes changes, past the watches.
func (s *Server) planner() changes.Planner {
	return changes.Planner{
		Control: s.fleet.Control, Target: s.fleet.Target, Apart: s.options.Target != nil || s.options.NoNodes, Clock: s.options.Clock,
		Namespace: cmp.Or(s.options.Namespace, s.options.Home), User: s.options.User, Drains: s.drains, Log: s.options.ActionLog,
	}
}

// plan answers what a change would do. It changes nothing: the API server tries each change as a dry run.
func (s *Server) plan(w http.ResponseWriter, r *http.Request) {
	var q changes.PlanRequest
	if !read(w, r, &q) {
		return
	}
	ctx, end := context.WithTimeout(r.Context(), planTime)
	defer end()
	page, err := s.planner().Plan(ctx, q)
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encoded(page))
}

// action answers with the plan of an action, or performs it if the user has confirmed it.
func (s *Server) action(w http.ResponseWriter, r *http.Request) {
	var q changes.ActionRequest
	if !read(w, r, &q) {
		return
	}
	ctx, end := context.WithTimeout(r.Context(), planTime)
	defer end()
	page, err := s.planner().Act(ctx, q)
	switch {
	case errors.Is(err, changes.ErrChanged):
		http.Error(w, err.Error(), http.StatusConflict)
	case err != nil:
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(encoded(page))
	}
}
