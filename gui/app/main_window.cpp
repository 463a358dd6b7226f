#include "gui/app/main_window.h"

#include <QApplication>
#include <QCloseEvent>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QMessageBox>
#include <QMimeData>
#include <QStackedWidget>
#include <QStatusBar>

#include <algorithm>

#include "gui/app/find_engine.h"
#include "gui/app/page_icon.h"
#include "gui/app/page_rail.h"
#include "gui/app/pages.h"
#include "gui/language/say.h"
#include "gui/language/say_engine.h"
#include "gui/theme/apply_theme.h"

namespace plimsoll::gui {
namespace {

constexpr int kLayoutVersion = 1;  ///< of what saveState wrote
constexpr int kRecentFiles = 10;
constexpr int kMessageMilliseconds = 8000;

/// A window that only takes a picture neither reads nor changes what a user keeps.
std::unique_ptr<QSettings> open_settings(const WindowOptions& options) {
  if (!options.settings.isEmpty()) return std::make_unique<QSettings>(options.settings, QSettings::IniFormat);
  if (!options.screenshot.isEmpty()) return nullptr;
  return std::make_unique<QSettings>(QSettings::IniFormat, QSettings::UserScope, "plimsoll", "window");
}

}  // namespace

MainWindow::MainWindow(const WindowOptions& options, QWidget* parent)
    : QMainWindow(parent),
      settings_(open_settings(options)),
      theme_(light_theme()),
      export_call_(find_engine()),
      rail_(new PageRail),
      stack_(new QStackedWidget) {
  desktop_dark_ = desktop_is_dark(*qApp);
  setWindowIcon(program_icon());
  setAcceptDrops(true);
  auto* centre = new QWidget;
  auto* row = new QHBoxLayout(centre);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(0);
  row->addWidget(rail_);
  row->addWidget(stack_, 1);
  setCentralWidget(centre);
  if (const auto filled = fill_chinese(catalogue_); !filled) qWarning("%s", filled.error().what.c_str());
  connect(&export_call_, &EngineCall::refused, this, [this](const QString& why) { report(say("Cannot export"), why); });
  connect(&export_call_, &EngineCall::finished, this, &MainWindow::tell_of_program);
  connect(&export_job_, &LatestJob::broke, this, [this](const QString& why) { report(say("Cannot export"), why); });
  add_pages(options);
  restore(options);
  if (!options.page.isEmpty()) show_page(options.page);
  for (const QString& file : options.files) open_file(file);
  if (!options.page.isEmpty()) show_page(options.page);
  if (options.start && current_page() != nullptr) current_page()->begin();
}

MainWindow::~MainWindow() { QCoreApplication::removeTranslator(&catalogue_); }

void MainWindow::add_pages(const WindowOptions& options) {
  const PageContext context{.undo = undo_, .theme = theme_, .engine = find_engine(), .choices = options.choices};
  for (const MakePage make : all_pages()) {
    Page* page = make(context).release();
    stack_->addWidget(page);
    pages_.push_back(page);
    rail_->add(page->name());
    connect(page, &Page::said, this, [this](const QString& text) { statusBar()->showMessage(text, kMessageMilliseconds); });
    connect(page, &Page::failed, this, &MainWindow::report);
    connect(page, &Page::openRequested, this, [this](const QString& name, const QString& path) {
      show_page(name);
      if (Page* wanted = this->page(name); wanted != nullptr) wanted->open_file(path);
    });
    connect(page, &Page::planChosen, this, [this](const SharedPlan& plan, const QStringList& asked) {
      plan_ = plan;
      asked_ = asked;
      build_menus();
      for (Page* other : pages_) other->show_plan(plan);
    });
  }
  connect(rail_, &PageRail::chosen, this, [this](int index) { show_page(pages_[static_cast<std::size_t>(index)]->name()); });
}

void MainWindow::restore(const WindowOptions& options) {
  const auto kept = [this](const char* key, const QString& otherwise) {
    return settings_ == nullptr ? otherwise : settings_->value(key, otherwise).toString();
  };
  resize(options.size.isEmpty() ? QSize(1440, 900) : options.size);
  if (settings_ != nullptr && options.size.isEmpty()) {
    restoreGeometry(settings_->value("window/geometry").toByteArray());
    restoreState(settings_->value("window/state").toByteArray(), kLayoutVersion);
  }
  set_theme(options.theme.isEmpty() ? kept("window/theme", QStringLiteral("system")) : options.theme);
  const QString desktop = to_text(parse_language(QLocale::system().name()).value_or(Language::kEnglish));
  const auto language = parse_language(kept("window/language", desktop));
  set_language(options.language.value_or(language.value_or(Language::kEnglish)));
  show_page(options.page.isEmpty() ? kept("window/page", QStringLiteral("explore")) : options.page);
  if (current_page() == nullptr && !pages_.empty()) show_page(pages_.front()->name());
}

Page* MainWindow::page(const QString& name) const {
  for (Page* page : pages_) {
    if (page->name() == name) return page;
  }
  return nullptr;
}

Page* MainWindow::current_page() const { return qobject_cast<Page*>(stack_->currentWidget()); }

QStringList MainWindow::recent_files() const {
  return settings_ == nullptr ? QStringList() : settings_->value("window/recent").toStringList();
}

void MainWindow::show_page(const QString& name) {
  for (std::size_t i = 0; i < pages_.size(); ++i) {
    if (pages_[i]->name() != name) continue;
    stack_->setCurrentIndex(static_cast<int>(i));
    rail_->show_page(static_cast<int>(i));
    pages_[i]->setFocus(Qt::OtherFocusReason);
    build_menus();
    if (settings_ != nullptr) settings_->setValue("window/page", name);
  }
}

void MainWindow::set_language(Language language) {
  language_ = language;
  speak(language, catalogue_);
  retranslate();
  if (settings_ != nullptr) settings_->setValue("window/language", to_text(language));
  if (language == Language::kChinese && !can_show_chinese()) {
    statusBar()->showMessage(QStringLiteral("No font with Chinese signs is installed; fonts-wqy-microhei is a small one"));
  }
}

void MainWindow::set_theme(const QString& name) {
  theme_name_ = name;
  const bool dark = name == QLatin1String("dark") || (name == QLatin1String("system") && desktop_dark_);
  theme_ = dark ? dark_theme() : light_theme();
  gui::apply_theme(*qApp, theme_);
  rail_->apply_theme(theme_);
  for (Page* page : pages_) page->apply_theme(theme_);
  if (settings_ != nullptr) settings_->setValue("window/theme", name);
  build_menus();
}

void MainWindow::retranslate() {
  setWindowTitle(say("Plimsoll"));
  std::vector<QString> titles;
  for (Page* page : pages_) {
    page->retranslate();
    titles.push_back(page->title());
  }
  rail_->set_titles(titles);
  rail_->setAccessibleName(say("Pages"));
  build_menus();
}

bool MainWindow::open_file(const QString& path) {
  if (!QFileInfo::exists(path)) {
    report(say("Cannot open the file"), say("There is no file %1, or you may not enter its folder.").arg(path));
    return false;
  }
  std::vector<Page*> order = pages_;
  std::stable_partition(order.begin(), order.end(), [this](Page* page) { return page == current_page(); });
  for (Page* page : order) {
    if (!(page == current_page() ? page->open_here(path) : page->open_file(path))) continue;
    show_page(page->name());
    remember_file(path);
    return true;
  }
  report(say("Cannot open the file"),
         say("%1 is none of: a model (config.json, .safetensors, or their folder), a training file (.yaml), a plan, a run file (.plimsoll), a trace.")
             .arg(QFileInfo(path).fileName()));
  return false;
}

void MainWindow::remember_file(const QString& path) {
  if (settings_ == nullptr) return;
  QStringList files = recent_files();
  const QString full = QFileInfo(path).absoluteFilePath();
  files.removeAll(full);
  files.prepend(full);
  settings_->setValue("window/recent", files.mid(0, kRecentFiles));
  build_menus();
}

QStringList MainWindow::problems() const {
  QStringList all = reported_;
  if (const Page* page = current_page(); page != nullptr && !page->problem().isEmpty()) all.append(say_engine(page->problem().toStdString()));
  return all;
}

void MainWindow::report(const QString& title, const QString& text) {
  reported_.append(text);
  auto* box = new QMessageBox(QMessageBox::Warning, title, text, QMessageBox::Ok, this);
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->setObjectName("report");
  box->open();  // does not wait: what runs goes on
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (settings_ != nullptr) {
    settings_->setValue("window/geometry", saveGeometry());
    settings_->setValue("window/state", saveState(kLayoutVersion));
  }
  QMainWindow::closeEvent(event);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  for (const QUrl& url : event->mimeData()->urls()) {
    if (url.isLocalFile()) open_file(url.toLocalFile());
  }
  event->acceptProposedAction();
}

}  // namespace plimsoll::gui
